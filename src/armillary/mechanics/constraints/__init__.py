"""Constraints: their rows, the choice of dependent speeds, elimination, and assembly of loops."""
