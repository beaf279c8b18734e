"""An FMU as it describes itself: data, which reading.py takes from the file."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from armillary.algebra.units import Dimension
from armillary.errors import ModelError, nearest, there_are

NUMERIC = (
    "Float64", "Float32", "Int8", "UInt8", "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64", "Boolean",
    "Enumeration",
)  # fmt: skip


@dataclass(frozen=True)
class FmuUnit:
    """A unit of an FMU: a value v in it is factor·v + offset in SI; no dimension where mechanics has none."""

    name: str = ""
    dimension: Dimension | None = None
    factor: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class FmuVariable:
    """A scalar variable of an FMU, or an element of an array, named as in ``x[2,1]``.

    ``type`` is that of FMI 3.0, also for FMI 2.0 (Float64, Int32, Boolean, Enumeration, String).
    """

    name: str
    reference: int
    causality: str
    variability: str
    start: float | None
    unit: FmuUnit
    about: str
    type: str = "Float64"
    size: int = 1  # of the whole array
    place: int = 0  # of this element in it, row by row
    starts: tuple[float, ...] = (0.0,)  # of the whole array


@dataclass(frozen=True)
class Exchange:
    """Model exchange: the library, the continuous states in order, and how many event functions there are."""

    identifier: str
    states: tuple[FmuVariable, ...] = ()
    indicators: int = 0
    completes: bool = True  # the end of every step is to be announced


@dataclass(frozen=True, eq=False, repr=False)
class Fmu:
    """An FMU as it describes itself. ``variables`` are its scalars and elements of arrays, by name."""

    path: Path
    name: str
    version: str  # of FMI
    token: str
    identifier: str  # of its library for co-simulation, "" where it has none
    variables: dict[str, FmuVariable] = field(default_factory=dict)
    exchange: Exchange | None = None

    def _of(self, causality: str) -> dict[str, FmuVariable]:
        found = {name: v for name, v in self.variables.items() if v.causality == causality}
        texts = ("String",) if causality == "parameter" else ()
        return {name: v for name, v in found.items() if v.type in NUMERIC or v.type in texts}

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

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the continuous states of model exchange."""
        return tuple(v.name for v in self.exchange.states) if self.exchange else ()

    def variable(self, name: str, causality: str, where: str) -> FmuVariable:
        """A variable by name, or an error with the nearest that there is."""
        known = self._of(causality)
        if name in known:
            return known[name]
        other = self.variables.get(name)
        if other is not None and other.causality == causality:
            raise ModelError(
                f"{where}: {causality} '{name}' of '{self.name}' is of type {other.type}, which cannot be "
                "connected; numbers, truths and enumerations can"
            )
        raise ModelError(
            f"{where}: '{self.name}' has no {causality} '{name}'{nearest(name, known)}; "
            f"{there_are(list(known)[:8])}"
        )

    def elements(self, name: str, causality: str) -> list[FmuVariable]:
        """The elements of an array in order; none where there is no such array."""
        found = [v for key, v in self._of(causality).items() if v.size > 1 and key.rpartition("[")[0] == name]
        return sorted(found, key=lambda v: v.place)

    def __repr__(self) -> str:
        counts = f"{len(self.inputs)} inputs, {len(self.outputs)} outputs, {len(self.parameters)} parameters"
        return f"Fmu({self.name!r}, FMI {self.version}: {counts})"
