"""Redundant coordinates: bodies by their own positions and Euler parameters, joints as constraints."""
