"""Expressions and the solver as text of a programming language, laid out in lines: `printer.py` first."""
