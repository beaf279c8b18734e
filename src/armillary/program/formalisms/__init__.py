"""The formalisms: their mechanics, written once over any scalar, and the programs made of them.

Enters: a ``Derivation`` (formalism.py). Leaves: ``DerivedEquations``. Read ``registry.py`` first, then
``kane.py`` and ``recursive.py``.

    kane.py, recursive.py, back_substitution.py (hubs.py)  accelerations of a tree of links
    tree_formalisms.py, free_speeds.py                     programs by these three, or the cheapest
    momentum.py (momentum_states.py)                       momenta as states
    redundant.py (redundant_equations.py, absolute_*.py)   bodies by their positions, joints as constraints
    jpl.py (jpl_*.py)                                      JPL's MBDYFR, MBDYFN and MBDYFL
"""
