"""Equations in print: as a textbook writes them, or line by line as the generated program computes them.

In: derived equations. Out: LaTeX, and HTML with MathML that browsers show without a script or network. Read
`textbook.py` first: it chooses symbols, collects terms and sets them in a notation of `algebra`;
`documents.py` makes documents of them and of a program's sections, `listing.py` plain text of a program.
"""
