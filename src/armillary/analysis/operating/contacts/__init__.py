"""Rigid contacts at operating points: closed ones are constraints, as in linear models.

In: statuses from ``memory=`` or from the start. Out: conditions that closed contacts add
(`contact_conditions.py`), statuses that agree with a solution, or an error that names the contact which does
not bear its load (`contact_statuses.py`, `contact_search.py`).
"""
