"""Imported FMUs: a model of another program as a force element of a system.

Enters: an FMU file. Leaves: its description, which is data (description.py). The verb ``System.fmu``
(files/__init__.py, coupling.py) steps the FMU with the system and returns its outputs as expressions.
The library inside the FMU is machine code; reading a description does not load it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from armillary.files.fmu.description import Fmu


def fmu(path: str | os.PathLike[str]) -> Fmu:
    """Return the description of an FMU file, FMI 2.0 or 3.0. Nothing of the FMU is executed."""
    from armillary.files.fmu.description import read_fmu  # imports archives and XML: slow, and for few models

    return read_fmu(path)
