"""Text models: a system in a TOML file, read and written through the verbs of ``System``.

Enters: a file. Leaves: a system, or the other way round. Read ``documents.py`` first: it lists what a file
may hold, from the forms of the verbs. ``build.py`` reads and ``save.py`` writes by it, and the published JSON
schema is made from it.
"""
