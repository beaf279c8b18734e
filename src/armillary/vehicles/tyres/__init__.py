"""Tyres: from a file or a few numbers to forces and moments of the contact, over any scalar.

Read `tyre.py` first, which states what every tyre offers. `tir.py` reads and writes tyre files,
`coefficients.py` has their names and the two conventions, `magic_formula.py` and `magic_radius.py` the Magic
Formula, `simple.py` the other models.
"""
