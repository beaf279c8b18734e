"""Targets for programs: each prints or compiles the same sections.

Enters: a ``Program``. Leaves: code in a target language. ``llvm.py`` writes LLVM's own language for use in
this process; ``jit.py`` compiles it; ``trigonometry.py`` is its sine and cosine.
"""
