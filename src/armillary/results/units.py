"""Units of outputs, where runs meet each other and the reader."""

from __future__ import annotations

from armillary.algebra.units import parse_unit
from armillary.errors import UnitsError

UNKNOWN = "?"  # of tables that other programs wrote


def label_units(units: str) -> str:
    """Units as a label shows them: none where they say that there are none, or nothing."""
    return "" if units.strip() in ("1", "-", UNKNOWN) else units


def conversion(name: str, source: str, target: str) -> float:
    """The factor from one unit of an output to another of the same dimension, 1 where one is not known."""
    if UNKNOWN in (source, target) or label_units(source) == label_units(target):
        return 1.0
    try:
        one, other = (parse_unit(label_units(text) or "1") for text in (source, target))
    except UnitsError as error:
        raise UnitsError(
            f"output '{name}' cannot be converted from '{source}' to '{target}': {error}"
        ) from error
    if one.dimension != other.dimension:
        raise UnitsError(
            f"output '{name}' cannot be compared: it is in '{target}' here and in '{source}' there"
        )
    return one.scale / other.scale
