"""Inertia of the links of a tree: rigid, articulated and flexible; inertia forces; the mass matrix."""
