"""`python -m resit`."""

from resit.cli import main

main()
