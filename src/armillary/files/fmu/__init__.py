"""Imported FMUs: a model of another program as a force element of a system.

Enters: an FMU file. Leaves: its description, which is data (description.py), and a verb of
`System` (files/__init__.py, coupling.py) that steps the FMU along with the system and gives its outputs as
expressions. The library inside the FMU is machine code; it is loaded by that verb and by nothing else.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from armillary.files.fmu.description import Fmu


def fmu(path: str | os.PathLike[str]) -> Fmu:
    """Return the description of an FMU file, FMI 2.0 or 3.0. Nothing of the FMU is executed."""
    from armillary.files.fmu.description import read_fmu  # archives and XML, which few models need

    return read_fmu(path)
