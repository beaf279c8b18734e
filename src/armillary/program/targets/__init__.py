"""The targets of a program, as expressions: `targets.py` first."""
