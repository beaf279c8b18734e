"""Straight-line code put in order here: its order, its registers, and machine code of ARM and x86-64."""
