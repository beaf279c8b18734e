"""The solver of contacts (mechanics/contact/problem.py) as machine code of this process.

One code serves all systems: sizes are fields of a record (llvm/module.py), and programs call it by name.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import lru_cache, partial

from armillary.cache import digest
from armillary.llvm.building.builder import Value
from armillary.llvm.building.routines import RecordFunction, RecordModule
from armillary.llvm.jit import GENERAL, LlvmObject, engine, machine_code_key, machine_settings, prepare_llvm
from armillary.llvm.module import IMPLEMENTATIONS, record_fields
from armillary.mechanics.contact.blocks import ENTRIES, FIELDS, ContactBlock, ContactShape
from armillary.solver.language.translator import described_sources, read_contacts
from armillary.solver.llvm.machine_code import SolverCode

# If two threads compiled code of one name, LLVM might find the copy that is freed.
_MAKING = threading.Lock()
_LEVEL = 2
_EXAMPLE = ContactBlock("contact_forces", ContactShape([(0, ())], 1))


def contact_symbol(name: str) -> str:
    """Return the symbol of a block's implementation, compiled at its first use or taken from the cache."""
    with _MAKING:
        return _compile_contacts(machine_settings()[0])[0][name]


@lru_cache(maxsize=4)
def _compile_contacts(processor: object) -> tuple[dict[str, str], LlvmObject]:
    # The symbols contain a digest of all that determines the code, since compiled programs that call the code
    # by these symbols are kept between processes.
    key = digest(machine_code_key(_LEVEL), described_sources())[:16]
    # The code is optimised in every tier, since with quick code a run with 13 contacts takes 40 times as
    # long. With LLVM's pipeline of level 2, forces of 24 rows would take 0.85 of the time, and compilation
    # would take six times as long.
    code = engine(
        f"contacts {described_sources()}",
        lambda: [str(contact_module().module)],
        _LEVEL,
        GENERAL,
        of_all_models=True,
    )
    names = {name: f"{name}_{key}" for name in ENTRIES}
    for name, (entry, *_) in ENTRIES.items():
        prepare_llvm().add_symbol(names[name], code.get_function_address(f"armillary_{entry}"))
    return names, code


def contact_module() -> RecordModule:
    """Return the whole code; its visible functions take the addresses of a record and of a workspace."""
    fields = record_fields(_EXAMPLE.sizes, _EXAMPLE.vectors, _EXAMPLE.tables)
    program = RecordModule({name: k for k, name in enumerate(fields)}, (), ("tables",), constant=True)
    wanted = [entry for entry, *_ in ENTRIES.values()]
    lengths = {kind: f"{field} length" for field, kind in FIELDS.items()}
    code = SolverCode(
        program,
        read_contacts(wanted, commented=False),
        sizes={**{name: name for name in _EXAMPLE.sizes}, **lengths},
        known={},
        tables={name: _table(name) for name in _EXAMPLE.tables},
        model={},
        given={},
    )
    for name in wanted:
        code.function(name).function.linkage = ""
    return program


def _table(name: str) -> Callable[[RecordFunction, Value], Value]:
    def entry(f: RecordFunction, k: Value) -> Value:
        return f.outside("tables")[f[f"{name} table"] + k].to_whole()

    return entry


IMPLEMENTATIONS.update({name: partial(contact_symbol, name) for name in ENTRIES})
