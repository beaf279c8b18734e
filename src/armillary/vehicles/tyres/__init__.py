"""Tyres: forces and moments of the contact, over any scalar, from a tyre file or a few numbers.

Read `tyre.py` first, which has the interface of every tyre. `tir.py` reads and writes tyre files,
`coefficients.py` has the names of coefficients and the two conventions, `magic_formula.py` and
`magic_radius.py` have the Magic Formula, `simple.py` the other models.
"""
