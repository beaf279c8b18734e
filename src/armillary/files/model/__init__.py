"""Text models: a system in a TOML file, read and written through the verbs of ``System``.

Enters: a file. Leaves: a system; saving goes the opposite way. Read ``documents.py`` first: from the forms of
the verbs it makes tables of what a file may contain. ``build.py`` reads files and ``save.py`` writes them by
these tables, and the published JSON schema is made from them.
"""
