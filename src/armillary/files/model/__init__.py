"""Text models: a system in a TOML file, read and written through the verbs of ``System``.

Enters: a file. Leaves: a system, or the other way round. Read ``sections.py`` first: one table says what a
file may hold; ``building.py`` reads by it, ``saving.py`` writes by it, ``schema.py`` publishes it.
"""
