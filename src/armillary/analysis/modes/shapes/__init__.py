"""Shapes of modes: motion, energies and participation by coordinate, by body and by load."""
