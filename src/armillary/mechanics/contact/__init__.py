"""Statuses and forces of rigid contacts and dry friction, by complementarity.

Enters: rows of the contacts' velocities, the changes of speeds by unit forces, and the relative accelerations
(or velocities) without forces of contacts. Leaves: statuses, and forces (or impulses). Read ``problem.py``
first. It begins the solver, which is written once, in the small language of solver/language, for machine code
and all exported languages; ``blocks.py`` makes functions of expressions from it. ``state.py`` describes a
contact and the ends of its statuses; ``decision.py`` finds statuses and velocities after an event.
"""
