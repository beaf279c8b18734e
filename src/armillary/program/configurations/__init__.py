"""The configurations of a system: what a run can meet, found from its events and loops; what a change needs.

Enters: derived equations. Leaves: a table of configurations with an equation each, and for every event the
configuration that follows. Read ``lock_sets.py`` first (sets of locked speeds that events can reach), then
``table.py``; ``sections.py`` has the functions by which a run goes from one configuration to another.
"""
