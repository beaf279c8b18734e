"""Quantities besides the motion of bodies: states with rates, memories, inputs, events and outputs.

Enters: names and expressions. Leaves: ``State``, ``Memory``, ``Event`` and ``Output`` records.
"""
