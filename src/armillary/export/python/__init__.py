"""Exported Python: one module for one system, with nothing but the standard library.

Read writer.py first: it lays out the module. solver.py prints the integration
into ``solver.txt``; ``program.txt`` is the same for all systems, ``test.txt`` its self-test.
"""

from armillary.export.python.writer import export

__all__ = ["export"]
