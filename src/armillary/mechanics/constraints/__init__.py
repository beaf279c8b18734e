"""Constraints: their rows and elimination, the choice of dependent speeds, and the closing of loops."""
