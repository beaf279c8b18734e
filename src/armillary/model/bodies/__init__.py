"""Bodies and points of a description, their frames, and their motion as vectors."""
