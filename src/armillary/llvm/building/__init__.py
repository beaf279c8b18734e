"""LLVM code with branches and loops: `builder.py`, a small language, over `emitter.py`; routines in it."""
