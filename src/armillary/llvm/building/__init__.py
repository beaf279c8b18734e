"""LLVM code with branches and loops: `builder.py`, a small language, on top of `emitter.py`; routines."""
