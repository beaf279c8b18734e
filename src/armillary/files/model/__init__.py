"""Text models: a system in a TOML file, read and written through the verbs of ``System``.

Enters: a file. Leaves: a system, or the other way round. Read ``documents.py`` first: what a file may hold by
the forms of the verbs; ``build.py`` reads by it, ``save.py`` writes by it, and its JSON schema publishes it.
"""
