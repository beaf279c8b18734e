"""Modes of motion: eigenvalues with shapes, participation and energies.

In: a linear model, or a compiled model at rest. Out: ``Modes`` (``modes.py``: read it first) and
``UndampedModes``. ``eigensystem.py`` computes the eigenvalues, ``shapes.py`` the motion and energy of each
body and load. ``tracking.py`` follows modes over a parameter; ``root_locus.py`` uses it for root loci and
Campbell diagrams.
"""
