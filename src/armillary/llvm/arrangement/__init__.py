"""Straight-line code put in order here: its order, its registers, and machine code of 64-bit ARM."""
