"""The generated program as data, and the passes that make it cheap.

Enters: a ``System``. Leaves: ``Equations``, a program of sections with exact operation counts. Read
``derive.py`` first: it is the pipeline. Then ``targets/`` (what to compute), ``passes/``, and ``form/``: the
program itself, its cost, and the checker (what a legal program is).
"""
