"""Quantities of a whole description as expressions: energies, momenta, mass properties and reactions.

Enters: a description. Leaves: expressions and vectors for outputs and texts. ``variables.py`` lists the
symbols of the motion; ``vector_functions.py`` has the functions of vectors that users call.
"""
