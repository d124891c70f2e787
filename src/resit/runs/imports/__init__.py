"""Samples that other programs generated, as ordinary run folders: readers, one a format, and the writer."""
