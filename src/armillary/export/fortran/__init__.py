"""Exported Fortran 2008: modules without globals and a program that reads namelists, for one system.

Read writer.py first: it lays out the model's module. ``solver.txt`` is the integration, ``test.txt`` the
self-test; program.py writes the main program.
"""

from armillary.export.fortran.writer import export

__all__ = ["export"]
