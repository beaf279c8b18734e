"""Structures reduced to modes: `bases.py` first, then the integrals of the modes."""
