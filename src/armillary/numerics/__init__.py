"""Numerical methods in the solver's small language: factors of dense matrices and roots of equations.

Enters: a record with the fields of `language.py`, and a user's functions of the place: residuals, their
derivatives, displacements. Leaves: the place moved to a root, or to where residuals are least. Read
`roots.py` first. The same functions are compiled for this process (runtime/language/machine_code.py),
printed in exported programs (runtime/solver/assembly) and run as Python while equations are derived.
"""
