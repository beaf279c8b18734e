"""Functions that users bring: lookup tables and compiled functions."""
