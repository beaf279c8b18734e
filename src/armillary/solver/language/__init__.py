"""The small language of the solver: names (language.py), records (fields.py), reader (translator.py)."""
