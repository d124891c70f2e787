"""Resit: a language model resits its maths exam."""
