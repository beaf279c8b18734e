"""Exported MATLAB, which Octave reads too: a package folder of functions for one system.

Read writer.py first: it lays out the files. ``simulate.txt`` is the integration, ``test.txt`` the self-test.
"""

from armillary.export.matlab.writer import export

__all__ = ["export"]
