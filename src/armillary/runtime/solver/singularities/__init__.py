"""Places where constraints lose rank or a motion has no mass, in the small language: `passages.py` first."""
