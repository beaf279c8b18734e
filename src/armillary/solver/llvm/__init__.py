"""The solver as machine code of the process: for one run, for lanes, for closing loops and for contacts.

Read layout.py first (the sizes for which a loop is compiled, and the offsets of its numbers), then
machine_code.py (the small language as LLVM code) and loop.py (the loop of a run, as a list of phases).
"""
