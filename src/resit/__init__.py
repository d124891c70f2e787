"""Resit: a language model resits its maths exam."""

__version__ = "0.1.0"
