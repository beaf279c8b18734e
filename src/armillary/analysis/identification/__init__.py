"""Inertial parameters: which of them a motion shows, motions that show them well, and their values from data.

In: equations or a compiled model. Out: `Regressor` (`regressor.py`), the matrix of inverse dynamics, which is
linear in inertial parameters, and `BaseParameters` (`base.py`), the fewest that determine all motions. Read
`link_parameters.py` first.
"""
