"""Control blocks: lags, controllers, delays and linear systems, made of states of the user's own.

Enters: a name, expressions for what a block takes, and its coefficients. Leaves: states (`State`), and the
block's output as an expression that texts call by the block's name. Read `lags.py` first.
"""
