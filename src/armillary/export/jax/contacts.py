"""The solver of contacts in JAX.

Forces at given statuses are found by functions of a dictionary of arrays (flow.py), which can be compiled,
mapped and differentiated forward. Statuses are decided at events alone, by the functions of exported Python,
which compiled code calls on the host: XLA takes half a minute for each place where they are called, and
copies them to all of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from armillary.export.jax.flow import FlowPrinter
from armillary.export.python.contacts import PythonContacts, solver_texts
from armillary.export.text.contacts import ContactSource, contact_constants
from armillary.export.text.files.template import fill, template
from armillary.export.text.printing.layout import wrapped
from armillary.mechanics.contact.blocks import WITHOUT_REBOUND, ContactBlock

_FORCES, _DECISION = "contact_forces", "contact_problem"


def contact_texts(sources: Sequence[ContactSource], width: int) -> list[str]:
    """The functions that sections call, with all that they need."""
    if not sources:
        return []
    lines = ["# " + "-" * 76 + " contacts", ""]
    lines += [f"{name} = {value!r}" for name, value in contact_constants(sources).items()]
    return ["\n".join([*lines, ""]), *(text for source in sources for text in _solver(source, width))]


def _solver(source: ContactSource, width: int) -> list[str]:
    block = source.block
    forces = {n: b for n, b in source.called.items() if b.name == _FORCES}
    forces = forces or {f"{_FORCES}{source.tag}": ContactBlock(_FORCES, block.shape)}
    printer = JaxContacts(ContactSource(forces, source.tag))
    texts = [_data(printer, width), printer.text(), *map(printer.called, forces)]
    for name, decision in source.called.items():
        if decision.name == _DECISION:
            host = ContactSource({f"{name}_on_host": decision}, f"{source.tag}_on_host")
            texts += [*solver_texts(PythonContacts(host), width), _decision(name, host, next(iter(forces)))]
    return texts


def _data(printer: JaxContacts, width: int) -> str:
    """Sizes and tables."""
    source = printer.source
    lines = [f"{printer.names[name]} = {size}" for name, size in source.sizes.items()]
    for name, numbers in source.whole_tables(0).items():
        lines += wrapped(f"{printer.names[name]} = jnp.array({numbers!r}, dtype=int)", width, "", "    ")
    return "\n".join([*lines, ""])


def _decision(name: str, source: ContactSource, forces: str) -> str:
    """The function that decides, and its derivative."""
    block = source.block
    taken = {p.field: p for p in source.takes(f"{name}_on_host")}
    given = {p.field: p for p in source.gives(f"{name}_on_host")}
    rows = block.shape.rows
    normal = {k: n for n, slip in rows for k in slip}
    contact = {k: c for c, (n, slip) in enumerate(rows) for k in (*(() if n is None else (n,)), *slip)}
    values = {
        "name": name,
        "forces": forces,
        "results": str(block.count),
        "limits": str(2 * len(rows)),
        "without": str(WITHOUT_REBOUND),
        "rows": str(block.sizes["N_CONTACT_ROWS"]),
        "speeds": str(block.sizes["N_CONTACT_SPEEDS"]),
        "contact": repr([contact[k] for k in range(len(contact))]),
        "normal": repr([normal.get(k) or 0 for k in range(len(contact))]),
        "slips": repr([float(k in normal) for k in range(len(contact))]),
        "pushed": repr([float(normal.get(k) is not None) for k in range(len(contact))]),
        **{f"in_{field}": f"{p.first} : {p.first + p.length}" for field, p in taken.items()},
        **{f"out_{field}": f"{p.first} : {p.first + p.length}" for field, p in given.items()},
    }
    return fill(template(__package__, "contacts.txt"), values)


class JaxContacts(FlowPrinter):
    """The functions that find forces of contacts."""

    def __init__(self, source: ContactSource) -> None:
        super().__init__(source.solver)
        self.source = source
        self.names = {"FIRST": "0", "NONE": "-1"} | {name: name + source.tag for name in source.sizes}
        self.names |= {name: name + source.tag for name in source.block.tables}

    def called(self, name: str) -> str:
        """A function from an array of arguments to one of results."""
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
