"""Exported MATLAB, which Octave can run, too: a package folder of functions for one system.

Read writer.py first, which has the layout of the files. solver.py prints the integration into
``simulate.txt``, ``test.txt`` is the self-test.
"""

from armillary.export.matlab.writer import export

__all__ = ["export"]
