"""The search for an operating point: starts, homotopy, and Newton's method as compiled code."""
