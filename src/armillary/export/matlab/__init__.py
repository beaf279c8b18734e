"""Exported MATLAB, which Octave reads too: a package folder of functions for one system.

Read writer.py first: it lays out the files. solver.py prints the integration into
``simulate.txt``, ``test.txt`` is the self-test.
"""

from armillary.export.matlab.writer import export

__all__ = ["export"]
