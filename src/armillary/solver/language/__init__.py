"""The small language of the solver: names (language.py), the reader of its files (translator.py)."""
