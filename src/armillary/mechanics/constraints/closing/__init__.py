"""Loops closed: the gaps to close, when they count as closed, and the figures that this needs."""
