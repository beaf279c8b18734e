"""The solver as machine code of the process: for one run, for lanes, for closing loops and for contacts.

Read layout.py first (what one loop is made for and where its numbers are), then machine_code.py (the small
language as LLVM code) and loop.py (the loop of a run, as a list of phases).
"""
