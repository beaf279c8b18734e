"""Derivatives and values of expressions: `calculus.py` for gradients, `tangents.py` along a direction."""
