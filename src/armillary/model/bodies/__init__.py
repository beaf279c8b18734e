"""Bodies and points of a description, their frames, shapes, and motion as vectors."""
