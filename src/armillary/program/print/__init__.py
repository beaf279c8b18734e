"""Equations in print: as a textbook writes them, or line by line as the generated program computes them.

In: derived equations. Out: LaTeX, and HTML with MathML that browsers show without a script or network. Read
`textbook.py` first: it chooses symbols and collects terms; `equations.py` sets them in a notation of
`algebra/notation/`, `handout.py` makes documents of them, `listings.py` documents of a program's sections.
"""
