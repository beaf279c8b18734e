"""Manoeuvres of standards, and drivers: a `Car` enters, a run with the standard's figures leaves.

Read `result.py` first. `catalogue.py` has all of them by name, for the command line.
"""
