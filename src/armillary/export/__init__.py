"""Programs written out in other languages, and functional mock-up units.

Enter with `Equations`; leave with a folder of source code, or an FMU. There is one folder per language;
`text/` has the parts that they share. Read `languages.py` first, which lists the languages.
"""
