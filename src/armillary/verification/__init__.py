"""Published cases, computed here and now: expected next to found, with source and tolerance.

In: the numbers of the literature (`data/`) and the models of the examples. Out: rows of a table, which
`armillary verify` prints and the verification manual shows. A case is a file in `cases/`: its checks, as
data, and one function that measures their numbers. Read `rows.py` first, then any case.
"""

from armillary.verification.cases import CASES
from armillary.verification.report import run, table
from armillary.verification.rows import Case, Check, Row

__all__ = ["CASES", "Case", "Check", "Row", "run", "table"]
