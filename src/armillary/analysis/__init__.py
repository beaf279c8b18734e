"""Analyses of a model beyond its runs.

In: compiled models, and data. Out: `Sensitivities`, the derivatives of a run by parameters and initial values
(`sensitivities.py`); a `Fit`, the parameters and initial values that match measurements (`fitting/`);
operating points (`operating/`), linear models (`linear/`) and their modes (`modes/`); paths of mechanisms
(`kinematics/`); the efforts that a given motion needs (`efforts.py`); and inertias from measured efforts
(`identification/`).
"""
