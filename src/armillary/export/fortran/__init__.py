"""Exported Fortran 2008: modules without globals and a program that reads namelists, for one system.

Read writer.py first, which has the layout of the model's module. solver.py prints the integration into
``solver.txt``, subroutines.py writes the procedures and the main program, ``test.txt`` is the self-test.
"""

from armillary.export.fortran.writer import export

__all__ = ["export"]
