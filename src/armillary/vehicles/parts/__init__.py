"""Parts of vehicles: springs, dampers, stops, bushings, bars, steering, brakes, drivelines, air, energy.

Each function adds loads, states and bodies to a system and returns a record with its ``power``: the power of
its loads on the bodies in watts, negative if energy is lost or stored. `chassis.py` sums the powers up.
"""
