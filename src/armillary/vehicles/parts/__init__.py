"""Parts of vehicles: springs, dampers, stops, bushings, bars, steering, brakes, drivelines, air, energy.

Each function adds loads, states and bodies to a system and returns a record with its ``power``: what its
loads do on the bodies, in watts, negative where energy is lost or stored. `chassis.py` sums them up.
"""
