"""Vehicles inside another program: a driving simulator or a game engine describes the road under each wheel.

Enter with a car on a `HostRoad`; leave with a folder of C (`export_vehicle`), or an FMU with the same inputs.
Read `road.py` first.
"""
