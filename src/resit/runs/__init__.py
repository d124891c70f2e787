"""Plan a run, journal it, resume it, show its progress."""
