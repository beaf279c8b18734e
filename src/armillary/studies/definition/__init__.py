"""The definition of a study as plain data, and the identity of its model: `definition.py` first."""
