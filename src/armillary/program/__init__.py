"""The generated program as data, and the passes that make it cheap.

Enters: a ``System``. Leaves: ``Equations``, a program of sections with exact operation counts. Read
``derive.py`` first: it is the pipeline. Then ``formalisms/``, ``targets/`` (what to compute), ``passes/``,
``program.py`` (the program itself) and ``checker.py`` (what a legal program is).
"""
