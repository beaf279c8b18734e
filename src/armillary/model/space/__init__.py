"""The space environment, and what flies in it, as verbs of a system.

Enters: attractors, orbits, thrusters, sunlight, rotors, in the user's words. Leaves: gravity, loads, bodies,
events and outputs, as if the user had written them. Read ``attraction.py`` and ``fields.py`` for gravity,
``orbit.py`` and ``placing.py`` for where motion starts, ``thrust.py`` and ``sunlight.py`` for forces,
``wheels.py`` for rotors and ``attitude.py`` for outputs.
"""

from armillary.model.space.attitude import Attitudes, attitude
from armillary.model.space.initial_motion import Placing
from armillary.model.space.orbit import Orbit
from armillary.model.space.sunlight import Sunlight
from armillary.model.space.thrust import Thrusters
from armillary.model.space.wheels import Gyro, Wheels


class Space(Placing, Sunlight, Thrusters, Wheels, Attitudes):
    """The space environment; a part of ``System``."""


__all__ = ["Gyro", "Orbit", "Space", "attitude"]
