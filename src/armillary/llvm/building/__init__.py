"""LLVM code with branches and loops: `builder.py`, a small language, over `assembly.py`; routines in it."""
