"""Suspensions: uprights that links, arms and struts hold in closed loops, and what springs and damps them.

Enter with a chassis and hard points; a `Corner` leaves, whose upright carries a wheel. Read `corner.py`
first, then `independent.py`.
"""
