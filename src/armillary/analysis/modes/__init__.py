"""Modes of motion: eigenvalues with shapes, participation and energies.

Enter: a linear model, or a compiled model at rest. Leaves: ``Modes`` (``modes.py``, to be read first) and
``UndampedModes``. ``eigensystem.py`` has the eigenvalues, ``shapes.py`` the motion and energy of each
body and load. ``tracking.py`` follows modes over a parameter, for ``root_locus.py``, which has Campbell
diagrams too.
"""
