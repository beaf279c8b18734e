"""Loads: what pushes, pulls and turns bodies, and the laws of contact and friction.

Enters: names, magnitudes, directions, points and bodies, in the user's words. Leaves: ``Load`` records. Read
``forces.py`` first: forces, moments, struts and gravity. ``contact.py`` has stops, brakes and contacts, with
their laws in ``laws.py`` and ``sticking.py``; ``armature.py`` has the rotors of drives.
"""
