"""A mechanism as functions: its quantities, its conditions, and their numbers."""
