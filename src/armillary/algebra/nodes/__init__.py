"""Interned nodes behind expressions, and what expressions compute with: numbers, terms, operands."""
