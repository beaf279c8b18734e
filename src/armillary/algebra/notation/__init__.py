"""Expressions as text: read, printed on a line, and typeset."""
