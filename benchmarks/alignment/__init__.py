"""How far tasks give what their reference implementations give: `python -m benchmarks.alignment --help`."""
