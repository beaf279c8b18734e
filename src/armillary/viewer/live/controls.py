"""Sliders of a live page: what a user requested, or what suits a model, with limits in stated units."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from armillary.algebra.arguments import real
from armillary.errors import ArmillaryError, nearest
from armillary.results.units import label_units
from armillary.untyped import DataMapping, Given

PARAMETERS, STARTS, INPUTS = "parameters", "starts", "memory"  # lists of a module's description
_MOST_PARAMETERS, _MOST_COORDINATES, _MOST_SPEEDS, _MOST_INPUTS = 4, 2, 3, 4  # that a page shows unasked
_TURNS = {"rad": math.pi, "deg": 180.0, "rev": 0.5}


@dataclass(frozen=True)
class Slider:
    """A value that the page can change between two limits, in its units."""

    name: str
    kind: str  # the list of the description that holds it
    low: float
    high: float
    value: float
    units: str
    about: str


Wanted = list[tuple[str, Given]] | None  # names with their limits, None for those of the page's choice


def sliders_of(
    about: DataMapping, wanted: Wanted, hidden: frozenset[str] = frozenset(), size: float = 1.0
) -> list[Slider]:
    """Sliders of parameters and initial values, or of inputs too where they are named.

    ``size`` is a typical length of the system: as far as coordinates at zero are moved unasked.
    """
    known = _known(about, (PARAMETERS, STARTS, INPUTS), hidden)
    if wanted is not None:
        return [_slider(item, known, "sliders=", size) for item in wanted]
    needed = [p["name"] for p in about["parameters"] if p["needed"]][:_MOST_PARAMETERS]
    coordinates = [s["name"] for s in about["starts"] if s["kind"] == "coordinate" and s["free"]]
    speeds = [s["name"] for s in about["starts"] if s["kind"] == "speed"]
    starts = coordinates[:_MOST_COORDINATES] or speeds[:_MOST_SPEEDS]  # Euler parameters are no sliders
    chosen = (*needed, *starts)
    return [_slider((name, None), known, "", size) for name in chosen]


def inputs_of(
    about: Mapping[str, object], wanted: Wanted, hidden: frozenset[str] = frozenset()
) -> list[Slider]:
    """Inputs that sliders, keys and a gamepad move; left out, the first inputs of the model."""
    known = _known(about, (INPUTS,), hidden)
    if wanted is not None:
        return [_slider(item, known, "inputs=") for item in wanted]
    return [_slider((name, None), known, "") for name in list(known)[:_MOST_INPUTS]]


def _known(
    about: DataMapping, kinds: Iterable[str], hidden: frozenset[str]
) -> dict[str, tuple[str, DataMapping]]:
    """Quantities that sliders can move, by name: their kinds, and their entries in the description."""
    return {
        item["name"]: (kind, item)
        for kind in kinds
        for item in about[kind]
        if item["name"] not in hidden and (kind != INPUTS or item["input"])
    }


def wanted_sliders(wanted: object, option: str) -> Wanted:
    """The sliders that a user requested: names, (name, lowest, highest), or a table of limits by name."""
    if wanted is None:
        return None
    if isinstance(wanted, Mapping):
        return [(str(name), limits) for name, limits in wanted.items()]
    if isinstance(wanted, str) or not isinstance(wanted, Sequence):
        raise ArmillaryError(
            f"{option}{wanted!r} is not a list; give names, or (name, lowest, highest), as in "
            f'{option}["k", ("L", 0.2, 1.5)]'
        )
    found: list[tuple[str, Given]] = []
    for item in wanted:
        if isinstance(item, str):
            found.append((item, None))
        elif isinstance(item, Sequence) and len(item) == 3 and isinstance(item[0], str):
            found.append((item[0], item[1:]))
        else:
            raise ArmillaryError(f"{option} holds {item!r}; give a name, or (name, lowest, highest)")
    return found


def _slider(item: tuple[str, Given], known: DataMapping, option: str, size: float = 1.0) -> Slider:
    name, limits = item
    if name not in known:
        kinds = "input" if option == "inputs=" else "parameter, coordinate, speed, state or input"
        there = ", ".join([*list(known)[:12], *["…"][: len(known) > 12]]) or "none"
        raise ArmillaryError(
            f"{option}: the model has no {kinds} '{name}'{nearest(name, known)}; there are {there}"
        )
    kind, entry = known[name]
    value = entry["value"] if kind == PARAMETERS else entry["initial"] / entry["factor"]
    reach = {"coordinate": size / entry["factor"], "speed": 10.0}.get(entry.get("kind", ""), 1.0)
    low, high = (
        _suitable(value, entry["units"], reach) if limits is None else _limits(name, limits, value, option)
    )
    return Slider(name, kind, low, high, value, label_units(entry["units"]), entry["about"])


def _limits(name: str, limits: object, value: float, option: str) -> tuple[float, float]:
    where = f"{option}: '{name}'"
    if isinstance(limits, str) or not isinstance(limits, Sequence) or len(limits) != 2:
        raise ArmillaryError(f"{where} has limits {limits!r}; give two numbers, the lower one first")
    low, high = (real(x, f"{where}: a limit") for x in limits)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ArmillaryError(f"{where} has limits {low:g} and {high:g}; both must be finite")
    if low >= high:
        raise ArmillaryError(f"{where} has limits {low:g} and {high:g}; give the lower one first")
    if not low <= value <= high:
        raise ArmillaryError(f"{where} is {value:g}, outside of its limits {low:g} and {high:g}; widen them")
    return low, high


def _suitable(value: float, units: str, reach: float) -> tuple[float, float]:
    """From zero to twice the value; half a turn to either side for angles, ``reach`` for other zeros."""
    turn = _TURNS.get(units)
    if turn is not None and abs(value) <= turn:
        return -turn, turn
    if value == 0.0:
        return -reach, reach
    return min(0.0, 2.0 * value), max(0.0, 2.0 * value)
