"""A run in the shapes that other programs read, one file a shape."""
