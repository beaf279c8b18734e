"""The targets of a program: the expressions that it must compute.

In: a description and its reduction. Out: expressions of time, state, memory and parameters alone. Read
`targets.py` first.
"""
