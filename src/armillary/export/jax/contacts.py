"""The solver of contacts in JAX: functions of a dictionary of arrays (flow.py)."""

from __future__ import annotations

from collections.abc import Sequence

from armillary.export.jax.flow import FlowPrinter
from armillary.export.text.contacts import ContactSource, contact_constants
from armillary.export.text.printing.layout import wrapped


def contact_texts(sources: Sequence[ContactSource], width: int) -> list[str]:
    """The functions that sections call, with all that they need."""
    if not sources:
        return []
    lines = ["# " + "-" * 76 + " contacts", ""]
    lines += [f"{name} = {value!r}" for name, value in contact_constants(sources).items()]
    return ["\n".join([*lines, ""]), *(text for source in sources for text in _solver(source, width))]


def _solver(source: ContactSource, width: int) -> list[str]:
    printer = JaxContacts(source)
    sizes = [f"{printer.names[name]} = {size}" for name, size in source.sizes.items()]
    tables = [
        f"{printer.names[name]} = jnp.array({numbers!r}, dtype=int)"
        for name, numbers in source.whole_tables(0).items()
    ]
    data = [*sizes, *(line for table in tables for line in wrapped(table, width, "", "    "))]
    return ["\n".join([*data, ""]), printer.text(), *map(printer.called, source.called)]


class JaxContacts(FlowPrinter):
    """The functions that find forces and statuses of contacts."""

    def __init__(self, source: ContactSource) -> None:
        super().__init__(source.solver)
        self.source = source
        self.names = {"FIRST": "0", "NONE": "-1"} | {name: name + source.tag for name in source.sizes}
        self.names |= {name: name + source.tag for name in source.block.tables}

    def called(self, name: str) -> str:
        """A function from a list of arguments to an array of results."""
        entry, lengths = self.source.entry(name), self.source.lengths
        given = {p.field: f"given[{p.first} : {p.first + p.length}]" for p in self.source.takes(name)}
        lines = ["@jax.jit", f"def {name}(given: Array) -> Array:"]
        lines += [f'    """{self.solver.functions[entry].about}"""', "    v = {"]
        for f in self.solver.fields:
            blank = f"jnp.zeros({lengths[f.type]}{', dtype=int' if f.type == 'Wholes' else ''})"
            about = f"  # {f.about}" if f.about else ""
            lines.append(f'        "{f.name}": {given.get(f.name, blank)},{about}')
        found = ", ".join(f'v["{p.field}"]' for p in self.source.gives(name))
        lines += ["    }", f"    v = {{**v, **{entry}(v)}}", f"    return jnp.concatenate([{found}])", ""]
        return "\n".join(lines)
