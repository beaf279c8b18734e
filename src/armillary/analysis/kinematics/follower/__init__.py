"""A mechanism followed from row to row by compiled code."""
