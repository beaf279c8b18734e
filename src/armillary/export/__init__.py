"""Programs written out in other languages, and functional mock-up units.

In: `Equations`. Out: a folder of source code, or an FMU. One folder per language; `text/` has the parts
that they share, `languages.py` lists them and is the file to read first.
"""
