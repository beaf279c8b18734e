"""The recording of a description: its records, verbs with their text forms, undo, snapshots, comparison.

Read ``verbs.py`` first: a verb is one function with one entry. Its recorder keeps the calls and
undoes a call that failed. ``records.py`` has the records; ``snapshot.py`` freezes a description and compares
two.
"""
