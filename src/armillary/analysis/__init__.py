"""What can be learned from a model beyond its runs.

In: compiled models, and data. Out: `Sensitivities`, the derivatives of a run by parameters and initial values
(`sensitivities.py`), and a `Fit` of these to measurements (`fit.py`, with `experiments.py` for the data,
`unknowns.py` for what is looked for, `residuals.py` for the model beside the data, and `outcome.py` for the
result). `operating/` finds operating points.
"""
