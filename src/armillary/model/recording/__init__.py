"""The recording of a description: its records, verbs with their text forms, undo, snapshots, comparison.

Read ``verbs.py`` first: a verb is one function with one entry. ``recorder.py`` keeps what was called and
undoes what failed, ``snapshot.py`` freezes a description, ``equality.py`` compares two, and ``identity.py``
finds the system that a symbol or vector is about.
"""
