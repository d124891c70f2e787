"""A report's numbers in the shapes that papers, model cards, spreadsheets and CI servers read."""
