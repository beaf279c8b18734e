"""The small language of the solver: its names, its reader, and its LLVM code."""
