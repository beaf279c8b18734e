"""Modes over a parameter: root loci with crossings of the imaginary axis, and Campbell diagrams of rotors.

Enter: a compiled model, a name and its values. Leaves: ``RootLocus`` and ``Campbell``. ``operating_sweep.py``
has the operating points, ``tracking.py`` follows modes by their shapes, to be read first.
"""
