"""Contacts without compliance and dry friction: which of them hold, by complementarity.

Enters: rows of the contacts' velocities, the changes of speeds by their forces, and what their relative
accelerations, or velocities, would be without these. Leaves: statuses and forces, or impulses. Read
``problem.py`` first: the solver, written once for every executor; ``blocks.py`` makes it functions of
expressions. ``state.py`` is a contact in its statuses, ``decision.py`` the statuses after an event and what
the event makes of velocities.
"""
