"""Numbers of many small calculations, kept in a file; see ``entries.py``."""

from tests.kept_numbers import analyses, control, figures, parts, pictures, studies, systems, vehicles
from tests.kept_numbers.entries import KEPT, MAKERS, lines_of

ENTRIES = (analyses, control, figures, parts, pictures, studies, systems, vehicles)
__all__ = ["ENTRIES", "KEPT", "MAKERS", "lines_of"]
