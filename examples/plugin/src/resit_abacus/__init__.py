"""A model that can add two numbers, and an exam that it passes."""
