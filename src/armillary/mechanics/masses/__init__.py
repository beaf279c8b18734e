"""Whether every motion of a system moves some mass."""
