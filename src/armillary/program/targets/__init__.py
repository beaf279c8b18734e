"""What a program must compute, as expressions: `targets.py` first."""
