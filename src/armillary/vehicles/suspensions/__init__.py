"""Suspensions: uprights held in closed loops by links, arms and struts, and the seats of their springs.

Enter with a chassis and hard points; leave with a `Corner`, whose upright carries a wheel. Read `corner.py`
first, then `axles.py`.
"""
