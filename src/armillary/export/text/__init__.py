"""Parts that all text languages share: a program on its way to readable source code.

Enters: `Equations`. Leaves, for a language to lay out: `Source` (source.py), which holds the system described
as plain data and the numbers of its self-test (description.py); a `Body` per section, which is ordered
assignments as text, printed by the language's `Printer` (printer.py) under names that are legal in it; a
folder that appears whole (files.py). Read body.py first, then printer.py.
"""
