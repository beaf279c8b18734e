"""Scheduling and register allocation of straight-line code, and its machine code for arm64 and x86-64.

In: the lines of a section, one operation in LLVM text each. Out: the same lines in another order with
registers, or machine code. Read `arrangement.py` first.
"""
