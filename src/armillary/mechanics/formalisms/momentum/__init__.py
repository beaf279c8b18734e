"""Momenta as states."""
