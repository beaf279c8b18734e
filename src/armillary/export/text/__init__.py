"""Parts that all text languages share, from equations to readable source code.

Enter with `Equations`; leave with parts for a language to lay out: `Source` (source.py), which has the system
as plain data and the numbers of its self-test (description.py); a `SectionText` per section, ordered
assignments printed by the language's `Printer` (printer.py) with legal names; a folder that is written whole
or not at all (files.py). Read body.py first, then printer.py.
"""
