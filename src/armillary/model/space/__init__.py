"""Gravity, orbits, sunlight and parts of spacecraft, as verbs of a system.

Enters: attractors, orbits, thrusters, sunlight, rotors, in the user's words. Leaves: gravity, loads, bodies,
events and outputs, as if the user had written them. Read ``attraction.py`` for gravity,
``orbit.py`` for initial motion and attitudes as outputs, ``spacecraft_parts.py`` for thrusters, sunlight,
rotors and panels.
"""
