"""Compiled integration loops: their layout, steps, events and formulas."""
