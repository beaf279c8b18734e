"""The solver of contacts in a module: the code that the process compiles, linked with that which calls it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from armillary.algebra.block_functions import is_block
from armillary.llvm.module import workspace_length
from armillary.mechanics.contact.blocks import ENTRIES
from armillary.program.program import ProgramSection
from armillary.runtime.solver.contact_code import contact_module, contact_symbol

_REAL = 8


def with_contacts(texts: Sequence[str]) -> list[str]:
    """Return LLVM texts, with one that has the block functions they call, if there are any."""
    found = list(texts)
    for name, (entry, *_) in ENTRIES.items():
        if any(f"@{name}_" in text for text in texts):
            symbol = contact_symbol(name)
            found = [text.replace(f"@{symbol}(", f"@armillary_{entry}(") for text in found]
    return found if found == list(texts) else [*found, str(contact_module().module)]


def contact_stack(sections: Iterable[ProgramSection]) -> int:
    """Bytes of a stack that the block functions of a section take, of that which takes most."""
    return _REAL * max(
        (sum(workspace_length(n.data) for n in s.nodes if is_block(n)) for s in sections), default=0
    )
