"""An FMU as it describes itself: data, which reading.py takes from the file."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from armillary.algebra.units.dimension import Dimension
from armillary.errors import ModelError, nearest


@dataclass(frozen=True)
class FmuUnit:
    """A unit of an FMU: a value v in it is factor·v + offset in SI; no dimension where mechanics has none."""

    name: str = ""
    dimension: Dimension | None = None
    factor: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class FmuVariable:
    """A real scalar variable of an FMU."""

    name: str
    reference: int
    causality: str
    variability: str
    start: float | None
    unit: FmuUnit
    about: str


@dataclass(frozen=True, eq=False, repr=False)
class Fmu:
    """An FMU as it describes itself. ``variables`` are its real scalars by name."""

    path: Path
    name: str
    version: str  # of FMI
    token: str
    identifier: str  # of its library for co-simulation, "" where it has none
    variables: dict[str, FmuVariable] = field(default_factory=dict)

    def _of(self, causality: str) -> dict[str, FmuVariable]:
        return {name: v for name, v in self.variables.items() if v.causality == causality}

    @property
    def inputs(self) -> dict[str, FmuVariable]:
        """Variables that a system may drive."""
        return self._of("input")

    @property
    def outputs(self) -> dict[str, FmuVariable]:
        """Variables that a system may use."""
        return self._of("output")

    @property
    def parameters(self) -> dict[str, FmuVariable]:
        """Variables that may be set before a run."""
        return self._of("parameter")

    def variable(self, name: str, causality: str, where: str) -> FmuVariable:
        """A variable by name, or an error with the nearest that there is."""
        known = self._of(causality)
        if name not in known:
            there = ", ".join(list(known)[:8]) or "none"
            raise ModelError(
                f"{where}: '{self.name}' has no {causality} '{name}'{nearest(name, known)}; there is {there}"
            )
        return known[name]

    def __repr__(self) -> str:
        counts = f"{len(self.inputs)} inputs, {len(self.outputs)} outputs, {len(self.parameters)} parameters"
        return f"Fmu({self.name!r}, FMI {self.version}: {counts})"
