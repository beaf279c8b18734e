"""Contacts without compliance and dry friction: which of them hold, by complementarity.

Enters: the Delassus matrix of the contacts and what their relative accelerations, or velocities, would be
without their forces. Leaves: their statuses and forces, or impulses. Read ``complementarity.py`` first: one
problem, its outcomes and the choice among them. ``state.py`` is a contact in its statuses, ``impact.py`` what
an impact makes of velocities, ``change.py`` the statuses after an event. All of it is over any scalar.
"""
