"""Parts that all text languages share, from equations to readable source code.

Enters: `Equations`. Leaves: the parts from which each language makes its files. source.py makes a `Source`:
the system as plain data, with the numbers of its self-test (description.py). body.py makes a `SectionText`
from each section: assignments in order, with legal names, printed by the language's `Printer` (printer.py).
files.py writes a folder as a whole or not at all. Read body.py first, then printer.py.
"""
