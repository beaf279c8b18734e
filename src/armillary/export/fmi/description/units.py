"""Units as FMI defines them: exponents of the SI base units and the radian, and a factor."""

from __future__ import annotations

import re

from armillary.algebra.units import BASE_UNITS, parse_unit

# Here angles have no dimension, in FMI the radian is a base unit.
_ANGLES = re.compile(r"(?<![A-Za-z])([mu\u00b5\u03bc]?rad|deg|°|arcmin|arcsec|rev)(?![A-Za-z])")


def base_unit(text: str) -> dict[str, str]:
    """The attributes of a unit's BaseUnit element; none where an exponent is not whole.

    The power of the radian is found by reading the text once more with the kelvin, which mechanics does not
    use, in the place of every unit of angle.
    """
    unit = parse_unit(text)
    exponents = dict(zip(BASE_UNITS, unit.dimension.exponents, strict=True))
    stand_in = parse_unit(_ANGLES.sub("K", text.replace("rpm", "(rev/min)"))).dimension
    exponents["rad"] = stand_in.exponents[BASE_UNITS.index("K")] - exponents["K"]
    if any(e.denominator != 1 for e in exponents.values()):
        return {}
    found = {name: str(int(e)) for name, e in exponents.items() if e}
    return found | ({"factor": repr(unit.scale)} if unit.scale != 1.0 else {})
