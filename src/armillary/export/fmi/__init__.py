"""Functional mock-up units: a model as a file that other simulation programs run.

Enters: `Equations`. Leaves: an archive with modelDescription.xml (description.py), libraries for one or
several platforms (export.py), their C sources and a page of documentation. The sources are the equations and
tables of variables (c_sources.py), and the functions of the standard (sources/, the same for all models).
Read export.py first, then sources/fmu.h.

files/fmu imports FMUs.
"""
