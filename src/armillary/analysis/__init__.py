"""Analyses of a model beyond its runs.

In: compiled models, and data. Out: `Sensitivities`, the derivatives of a run by parameters and initial values
(`sensitivities.py`); a `Fit` of these to measurements (`fitting/`); operating points (`operating/`), linear
models (`linear/`) and their modes (`modes/`); paths of mechanisms (`kinematics/`); efforts for given motions
(`efforts.py`) and inertias from measured ones (`identification/`).
"""
