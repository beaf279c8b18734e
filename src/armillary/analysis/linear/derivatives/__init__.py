"""The matrices A, B, C and D of a model, as compiled functions or as expressions: `jacobians.py` first."""
