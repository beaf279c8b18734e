"""Runs that had to stop: the cause and the remedy."""
