"""Functional mock-up units: a model as a file that other simulation programs run.

Enters: `Equations`. Leaves: an archive with modelDescription.xml (describing.py), a library for this machine
(compiler.py), its C sources and a page of documentation. The sources are the equations (model.py), tables of
their variables (variables.py, tables.py) and the functions of the standard (sources/, the same for all
models). Read exporting.py first, then sources/fmu.h.

The other way, library.py loads the library of an imported FMU and stepping.py lets compiled loops call it.
"""
