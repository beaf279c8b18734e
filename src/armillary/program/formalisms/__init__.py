"""The formalisms: their mechanics, written once for scalars of any type, and their programs.

Enters: a ``Derivation`` (formalism.py). Leaves: ``DerivedEquations``. Read ``formalism.py`` first, then
``tree_formalisms.py`` and ``recursive.py``.

    recursive.py, back_substitution.py (hubs.py)           accelerations of a tree of links
    tree_formalisms.py                                     Kane's equations; programs of all these formalisms
    momentum.py (momentum_states.py)                       momenta as states
    redundant.py (redundant_equations.py, absolute_*.py)   bodies by their positions, joints as constraints
    jpl.py (jpl_*.py)                                      JPL's MBDYFR, MBDYFN and MBDYFL
"""
