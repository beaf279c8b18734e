"""Linear models: A, B, C, D at operating points; responses, margins, zeros, and other forms.

In: a compiled model, operating points, names of inputs and outputs. Out: a ``LinearModel``
(``linear_model.py``). ``points.py`` reads operating points, ``matrices.py`` has the compiled matrices.
"""
