"""The generated program as data, and the passes that make it cheap.

Enters: a ``System``. Leaves: ``Equations``, a program of sections with exact operation counts. Read
``derive.py`` first: it is the pipeline. Then ``targets.py`` (what to compute), ``passes/``, ``program.py``,
``checker.py`` (what a legal program is) and ``cost.py``.
"""
