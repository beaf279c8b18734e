"""The shape of a body: a solid at a place of it, with a colour. Pictures show it; motions do not feel it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from armillary.algebra.arguments import real
from armillary.algebra.expression import Expr
from armillary.algebra.units.dimension import LENGTH, ONE
from armillary.algebra.vectors.matrices import Matrix
from armillary.algebra.vectors.triples import Triple
from armillary.errors import ModelError
from armillary.model.body import Body
from armillary.model.kinds import BODY, EXPRESSION, MATRIX, NUMBER, TRIPLE, WORDS, Either, Turned
from armillary.model.reading.orientation import orientation_matrix
from armillary.model.reading.references import constant_reader, find_body, triple, unit_triple
from armillary.model.recording.verbs import EntryForm, verb
from armillary.model.shapes.solids import SOLID, Solid

if TYPE_CHECKING:
    from armillary.model.description import Description

_COLOUR = re.compile(r"#[0-9a-fA-F]{6}\Z")
_KINDS = {
    "body": BODY, "shape": SOLID, "at": TRIPLE, "orient": Either((MATRIX, Turned(EXPRESSION))),
    "colour": WORDS, "opacity": NUMBER,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Shape:
    """A solid on a body: its kind, sizes, and its centre and axes in the body's."""

    name: str
    body: Body
    kind: str
    sizes: tuple[Expr, ...]
    axis: Triple | None
    at: Triple
    orient: Matrix | None
    colour: str
    opacity: float


@verb(EntryForm("shapes", _KINDS))
def shape(
    system: Description,
    name: str,
    *,
    body: Any,
    shape: Solid,
    at: Any = (0, 0, 0),
    orient: Any = None,
    colour: str = "",
    opacity: float = 1.0,
) -> Shape:
    """A solid that pictures show on a body, in place of what they would draw for it.

    ``at`` is its centre and ``orient`` the direction of its axes, both in the body's axes, as for a body.
    ``colour`` is written "#0072b2"; without one it is that of the body. ``opacity`` is between 0 and 1.
    """
    where = f"shape '{name}'"
    if not isinstance(name, str) or not name.isidentifier():
        raise ModelError(f"{where}: that is not a name: letters, digits and underscores")
    if name in system.shapes:
        raise ModelError(f"there is a shape '{name}' already; choose another name")
    owner = find_body(system, body, where)
    if not isinstance(shape, Solid):
        raise ModelError(f"{where}: {shape!r} is not a solid; give one such as Box(0.4, 0.2, 0.1)")
    read = constant_reader(system, where, LENGTH)
    sizes = tuple(read(size) for size in shape.sizes)
    for label, size in zip(shape.names, sizes, strict=True):
        if size.kind == "number" and not size.data > 0:
            raise ModelError(f"{where}: its {label} is {size.data:g}; give a positive length")
    if not isinstance(colour, str) or (colour and not _COLOUR.match(colour)):
        raise ModelError(f"{where}: colour={colour!r} is not written as '#0072b2'")
    if not 0 <= real(opacity, f"opacity of {where}", ModelError) <= 1:
        raise ModelError(f"{where}: its opacity is {opacity:g}; give one between 0 and 1")
    made = Shape(
        name,
        owner,
        shape.kind,
        sizes,
        None if shape.axis is None else unit_triple(system, shape.axis, where),
        triple(system, at, f"'at' of {where}", "m"),
        orientation_matrix(orient, where, constant_reader(system, f"orient of {where}", ONE)),
        colour,
        float(opacity),
    )
    system.shapes[name] = made
    return made
