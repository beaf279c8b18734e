"""Manoeuvres of standards: enter with a `Car`; leave with a run and the standard's figures.

Read `result.py` first. `catalogue.py` lists all manoeuvres by name, for the command line.
"""
