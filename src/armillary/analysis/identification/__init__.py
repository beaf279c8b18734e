"""Identification of inertial parameters: which ones matter, which motions excite them, and their values.

In: equations or a compiled model, and measured motions with efforts. Out: `BaseParameters`
(`inertial_parameters.py`), the fewest parameters that determine all motions; `Regressor` (`excitation.py`),
the matrix of inverse dynamics, which is linear in inertial parameters; an `ExcitingTrajectory`
(`excitation.py`); and an `Identification` (`identify.py`) with physically possible bodies. Read
`inertial_parameters.py` first.
"""
