"""Methods of integration: one per file, with its tableau, its source, and the alternative not taken.

tableau.py has the forms, registry.py the methods by name, method_text.py writes the stages of a method in the
solver's small language.
"""
