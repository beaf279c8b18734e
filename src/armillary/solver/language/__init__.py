"""The small language in which the solver is written.

In: files of the solver. Out: their functions with types of all locals, and the fields of their records. Read
`language.py`, its names, before `translator.py`, its reader.
"""
