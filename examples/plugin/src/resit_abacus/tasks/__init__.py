"""Task files: what the entry point in `resit.tasks` names is this folder."""
