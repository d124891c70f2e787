"""Hostile bytes for every reader of foreign ones: `python -m benchmarks.fuzz`."""
