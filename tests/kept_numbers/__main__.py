"""Write the kept numbers anew: ``python -m tests.kept_numbers [name …]``."""

import sys

from tests.kept_numbers import KEPT, MAKERS, lines_of

chosen = sys.argv[1:] or list(MAKERS)
old = KEPT.read_text(encoding="utf-8").splitlines() if KEPT.exists() else []
lines = []
for name in MAKERS:
    lines += lines_of(name) if name in chosen else [x for x in old if x.startswith(f"{name}: ")]
KEPT.write_text("\n".join(lines) + "\n", encoding="utf-8")
