"""The reader of flexible parts: which of the ways to describe one is meant, and whether it is complete."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace

from armillary.algebra.arguments import flag
from armillary.errors import ModelError, nearest, shown
from armillary.model.flexible.modal_data import from_complex_modes, from_coupling, from_integrals
from armillary.model.flexible.part import FlexiblePart
from armillary.model.flexible.part_input import numbers
from armillary.model.flexible.structures import from_matrices, from_nodes
from armillary.untyped import DataTable, Given

# The option that distinguishes a way from the others, the first that is given decides; the name of that way;
# and its reader, whose keywords are all that the way takes.
WAYS: dict[str, tuple[str, Callable[..., FlexiblePart]]] = {
    "coupling": ("rigid-elastic coupling", from_coupling),
    "P": ("modal integrals", from_integrals),
    "mass_matrix": ("matrices", from_matrices),
    "stiffness_matrix": ("matrices", from_matrices),
    "complex_shapes": ("complex modes", from_complex_modes),
    "nodes": ("nodes", from_nodes),
}


def flexible_part(where: str, source: object = None, **options: object) -> FlexiblePart:
    """A flexible part from a ``Beam``, a ``Plate`` or another part, or from options.

    ``where`` starts every message. ``spin`` (rad/s, body axes) may go with every way: the steady rotation
    about which modes are meant.
    """
    spin = options.pop("spin", None)
    for name in ("stiffening", "second_order"):
        if name in options:
            flag(options[name], f"{where}: {name}=", ModelError)
    if options.get("stiffening") and options.get("second_order") is False:
        raise ModelError(
            f"{where}: stiffening is of second order in the deformation; leave out second_order=False"
        )
    if isinstance(source, FlexiblePart):
        part = source
        for name in options:
            raise ModelError(
                f"{where}: {name}= does not go with a ready part, which has all but spin= and held="
            )
    elif source is not None:
        if not hasattr(source, "flexible_part"):  # as a Beam and a Plate have
            raise ModelError(
                f"{where}: {shown(source)} is not a Beam or Plate; give one, or name the options (nodes=, …)"
            )
        part = _call(source.flexible_part, f"a {type(source).__name__}", where, options)
    else:
        mark = next((mark for mark in WAYS if mark in options), None)
        if mark is None:
            marks = ", ".join(f"{m}= ({kind})" for m, (kind, _) in WAYS.items())
            _known(where, options)
            raise ModelError(
                f"{where}: it is not stated what is flexible; give a Beam or Plate, or one of: {marks}"
            )
        kind, reader = WAYS[mark]
        if spin is not None and "spin" in inspect.signature(reader).parameters:
            options = options | {"spin": spin}
        part = _call(reader, kind, where, options)
    return part if spin is None else replace(part, spin=numbers(spin, where, "spin", (3,)))


def _call(reader: Callable[..., FlexiblePart], kind: str, where: str, options: DataTable) -> FlexiblePart:
    """A reader with options that it has and all that it needs."""
    wanted = inspect.signature(reader).parameters
    for name in options:
        if name not in wanted:
            _known(where, [name], *wanted)
            remedy = "describe the part in one way only"
            if name not in WAYS:
                takes = [f"{p.name}=" for p in wanted.values() if p.kind is p.KEYWORD_ONLY]
                remedy = f"possible are {', '.join(takes)}"
            raise ModelError(f"{where}: {name}= does not go with {kind}; {remedy}")
    needed = [p.name for p in wanted.values() if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    if missing := [name for name in needed if name not in options]:
        names = ", ".join(f"{name}=" for name in missing)
        raise ModelError(f"{where}: {names} must be given too, to make the part from {kind}")
    return reader(where, **options)


def _known(where: str, given: Given, *more: str) -> None:
    names = {"spin", "held", *more}
    for _, reader in WAYS.values():
        names.update(p.name for p in inspect.signature(reader).parameters.values() if p.name != "where")
    for name in given:
        if name not in names:
            raise ModelError(f"{where}: flexible() has no option {name}={nearest(name, sorted(names))}")
