"""The space environment, and what flies in it, as verbs of a system.

Enters: attractors, orbits, thrusters, sunlight, rotors, in the user's words. Leaves: gravity, loads, bodies,
events and outputs, as if the user had written them. Read ``attraction.py`` and ``fields.py`` for gravity,
``orbit.py`` and ``initial_motion.py`` for where motion starts, ``propulsion.py`` and ``sunlight.py`` for
forces, ``wheels.py`` for rotors and ``attitude.py`` for outputs.
"""
