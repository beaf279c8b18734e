"""Modes of motion: eigenvalues with shapes, participation and energies; over a parameter; of spinning parts.

Enter: a linear model, or a compiled model and values of a parameter. Leaves: ``Modes`` (``modes.py``, to be
read first), ``UndampedModes``, ``RootLocus``, ``Campbell``. ``eigensystem.py`` has the eigenvalues,
``bodies.py`` the motion and energy of each body, ``tracking.py`` follows modes by their shape.
"""
