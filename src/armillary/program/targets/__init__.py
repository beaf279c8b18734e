"""The targets of a program, as expressions: what it must compute.

In: a description and its reduction. Out: expressions of time, state, memory and parameters alone. Read
`targets.py` first.
"""
