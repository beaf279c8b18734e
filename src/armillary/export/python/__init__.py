"""Exported Python: one module for one system, with nothing but the standard library.

Read writer.py first: it lays out the module. ``solver.txt`` and ``program.txt`` are the parts of it that are
the same for all systems, ``test.txt`` its self-test.
"""

from armillary.export.python.writer import export

__all__ = ["export"]
