"""A package as data: its FMUs, what is connected, which connectors it shows, which parameters it sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from armillary.errors import ModelError, nearest

STRUCTURE = "SystemStructure.ssd"
SSD = "http://ssp-standard.org/SSP1/SystemStructureDescription"
SSC = "http://ssp-standard.org/SSP1/SystemStructureCommon"
SSV = "http://ssp-standard.org/SSP1/SystemStructureParameterValues"


@dataclass(frozen=True)
class Connector:
    """A variable of an FMU, or with no ``component`` one that the package shows."""

    component: str
    variable: str

    def __str__(self) -> str:
        return f"{self.component}.{self.variable}" if self.component else self.variable


@dataclass(frozen=True)
class Connection:
    """``end`` takes factor · start + offset, in its own unit."""

    start: Connector
    end: Connector
    factor: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, eq=False)
class Package:
    """The description that a package holds. ``components`` are places of FMUs in it, by name."""

    path: Path
    name: str
    components: Mapping[str, str]
    connections: tuple[Connection, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    parameters: Mapping[Connector, float | str | bool]


def connector(text: object, components: Mapping[str, object], where: str) -> Connector:
    """An end of a connection, from ``component.variable`` or the name of a connector of the package."""
    if not isinstance(text, str) or not text.strip():
        raise ModelError(f"{where}: {text!r} is not a connector; give 'component.variable', or a name")
    first, dot, rest = text.partition(".")
    if first in components:
        if not rest:
            raise ModelError(f"{where}: '{text}' names an FMU but no variable of it; give '{first}.variable'")
        return Connector(first, rest)
    if dot and (near := nearest(first, components)):
        raise ModelError(f"{where}: there is no FMU '{first}'{near}")
    return Connector("", text)
