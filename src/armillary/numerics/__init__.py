"""Numerical methods in the solver's small language: factors of dense matrices and roots of equations.

Enters: a record with the fields of `language.py`, and functions of the calling module: residuals at the
current values of the unknowns (the place), derivatives of residuals, displacements of the place. Leaves: the
place at a root, or at the least residuals. Read `roots.py` first. These functions are compiled for this
process (solver/llvm/machine_code.py), printed in exported programs (solver/assembly.py) and run as Python
while equations are derived.
"""
