"""Vectors without a chosen frame, and arithmetic on triples and 3×3 matrices of any scalar."""
