"""Functional mock-up units: a model as a file that other simulation programs run.

Enters: `Equations`. Leaves: an archive with modelDescription.xml (description.py),
libraries for one platform or several (export.py), its C sources and a page of documentation. The
sources are the equations and tables of their variables (c_sources.py) and the functions of
the standard (sources/, the same for all models). Read export.py first, then sources/fmu.h.

The other way is files/fmu.
"""
