"""LLVM code with branches and loops, built by Python.

In: calls of `builder.py`, a small language on top of `emitter.py`. Out: the text of functions.
`routines.py` has functions that many callers share. Read `builder.py` first.
"""
