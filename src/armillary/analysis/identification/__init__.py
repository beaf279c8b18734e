"""Inertial parameters: which of them a motion shows, motions that show them well, and their values from data.

In: equations or a compiled model, and measured motions with efforts. Out: `Regressor` (`excitation.py`), the
matrix of inverse dynamics, which is linear in inertial parameters; `BaseParameters`
(`inertial_parameters.py`), the fewest that determine all motions; an `ExcitingTrajectory`
(`excitation.py` too); and an `Identification` (`identify.py`) with
bodies that are physically possible. Read `inertial_parameters.py` first.
"""
