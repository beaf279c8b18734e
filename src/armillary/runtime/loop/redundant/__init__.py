"""Redundant coordinates in the compiled loop: Euler parameters, projection, the staggered step."""
