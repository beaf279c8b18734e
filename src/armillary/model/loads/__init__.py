"""Loads: forces and moments on bodies, contacts, brakes and stops, and laws of contact and friction.

Enters: names, magnitudes, directions, points and bodies, in the user's words. Leaves: ``Load`` records. Read
``forces.py`` first: forces, moments, struts, gravity, efforts along joints and armatures. ``contacts.py`` has
compliant stops, brakes and contacts, with their laws in ``laws.py``; ``rigid.py`` has contacts without
compliance.
"""
