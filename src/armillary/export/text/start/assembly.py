"""The closing of loops before a run in exported code, as in the process.

The algorithm is that of runtime/solver/assembly/assembly.py, which the printer of each language writes. Its
data are here: a section of gaps Φ, elements of J and elements of N, for gaps and motions in terms of their
sizes (mechanics/constraints/loop_closing.py), and the sizes of gaps; where these stand, which speeds may
move in which attempt, and the words of the error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from armillary.export.text.printing.layout import one_line
from armillary.mechanics.constraints.loop_closing import Geometry
from armillary.mechanics.constraints.loop_motion import gap_text, movable_speeds, redundant_text
from armillary.program.equations import DerivedEquations
from armillary.program.program import ProgramSection, section
from armillary.runtime.solver.language.translator import Solver, read_assembly


def loop_name(name: str) -> str:
    """A size of the description in a module that has others for changes of configuration."""
    return name.replace("N_", "LOOP_", 1) if name.startswith("N_") else name


@dataclass(frozen=True)
class AssemblySource:
    """Loops that have to close; rows with a gap come first, then those that only show redundancy."""

    section: ProgramSection  # gaps, elements of J, elements of N, sizes of gaps
    gaps: tuple[tuple[str, str], ...]  # words of the error before and after the number that remains
    rows: int
    coordinates: tuple[str, ...]
    speeds: int
    jacobian: tuple[tuple[int, int], ...]  # row and speed of each element
    rates: tuple[tuple[int, int], ...]  # coordinate and speed of each element
    quaternions: tuple[int, ...]
    dependent: tuple[int, ...]  # 1 for speeds that move in the first attempt, by configurations
    holding: tuple[int, ...]  # and in the others
    whole: tuple[int, ...]  # 1 for coordinates that are held where a whole state is given
    first: tuple[float, ...]  # coordinates from which the search starts
    kept: tuple[int, ...]  # 1 for rows that are not redundant
    redundant: str  # the error where rows that were redundant are not; "": there are none
    several: bool  # the program has a table of configurations, and closes loops again in each

    @property
    def solver(self) -> Solver:
        """The functions of the algorithm."""
        features = {"REDUNDANT"} if self.redundant else set()
        features |= {"UNITS"} if self.quaternions else set()
        features |= {"CONFIGURATIONS"} if self.several else set()
        return read_assembly(features, (*(["make_start_unit"] if self.quaternions else []), "close_loops"))

    @property
    def sizes(self) -> dict[str, int]:
        """Sizes by their names in the description."""
        n, m, gaps = len(self.coordinates), self.speeds, len(self.gaps)
        elements, rates = len(self.jacobian), len(self.rates)
        return {
            "N_COORDINATES": n, "N_SPEEDS": m, "N_GAPS": gaps, "N_ROWS": self.rows, "N_ELEMENTS": elements,
            "N_RATES": rates, "N_UNITS": len(self.quaternions), "N_JACOBIAN": self.rows * m,
            "N_RATE_PLACES": n * m, "AT_JACOBIAN": gaps, "AT_RATES": gaps + elements,
            "AT_SIZES": gaps + elements + rates,
        }  # fmt: skip

    @property
    def lengths(self) -> dict[str, int]:
        """Lengths of vectors by their kinds."""
        n, m, sides = (
            len(self.coordinates),
            self.speeds,
            max(len(self.gaps) + len(self.coordinates), self.rows),
        )
        return {
            "Places": n, "PlaceFlags": n, "SpeedFlags": m, "Speeds": m, "Figures": len(self.section.results),
            "Jacobian": self.rows * m, "Rates": n * m, "Equations": sides * m, "Sides": sides,
            "Square": m * m,
        }  # fmt: skip

    def whole_tables(self, first: int) -> dict[str, list[int]]:
        """Tables of numbers in a language whose indices begin with ``first``."""
        tables = {
            "ELEMENT_ROW": [i for i, _ in self.jacobian],
            "ELEMENT_SPEED": [j for _, j in self.jacobian],
            "RATE_PLACE": [i for i, _ in self.rates],
            "RATE_SPEED": [j for _, j in self.rates],
            **({"UNIT_FROM": list(self.quaternions)} if self.quaternions else {}),
        }
        return {name: [i + first for i in numbers] for name, numbers in tables.items()}

    @property
    def truth_tables(self) -> dict[str, tuple[int, ...]]:
        """Tables of truth values, as 1 and 0."""
        found = {"DEPENDENT": self.dependent, "HOLDING": self.holding}
        return found | ({"IS_KEPT": self.kept} if self.redundant else {})


def assembly(
    equations: DerivedEquations, table: Sequence[DerivedEquations] | None = None
) -> AssemblySource | None:
    """The loops of a system; None where it has none. ``table``: the configurations in which they are closed,
    of a program that has a table of them.
    """
    reduction, program = equations.reduction, equations.program
    layout = reduction.layout
    if layout is None or not layout.gaps:
        return None
    rows = list(layout.gaps)
    if reduction.elimination.redundant:
        rows += [i for i in range(layout.rows) if i not in rows]
    place = {row: i for i, row in enumerate(rows)}
    results, first = program.geometry.results, len(layout.gaps) + layout.rows
    elements = list(zip(layout.jacobian, results[first:], strict=False))
    size = program.speed_sizes  # motions are in terms of these
    size_of_row = program.row_sizes  # and gaps of these
    placed = [((place[i], j), e * (size[j] / size_of_row[i])) for (i, j), e in elements if i in place]
    rates = [
        ((i, j), e * size[j])
        for (i, j), e in zip(layout.rates, results[first + len(layout.jacobian) :], strict=True)
    ]
    labels = [f"gap {k + 1}" for k in range(len(layout.gaps))]
    labels += [f"J {i + 1}, {j + 1}" for (i, j), _ in placed] + [f"N {i + 1}, {j + 1}" for (i, j), _ in rates]
    labels += [f"size {k + 1}" for k in range(len(layout.gaps))]
    own = [size_of_row[i] for i in layout.gaps]
    gaps = [e / size for e, size in zip(results, own, strict=False)]
    wanted = [*gaps, *(e for _, e in placed), *(e for _, e in rates), *own]
    # Only the layout of this geometry is read, and its rule for Euler parameters.
    geometry = Geometry(layout, lambda t, q: np.empty(0))
    still = np.zeros(layout.speeds, dtype=bool)
    # The layout of each configuration is its own: locked speeds, which stay, are none of its columns.
    moving = [
        movable_speeds(own_layout, e.reduction, still, positions=True)
        for e in table or [equations]
        if (own_layout := e.reduction.layout) is not None
    ]
    dependent, holding = (tuple(int(m) for one in moving for m in one[turn]) for turn in range(2))
    start = {q.data.name: x for q, x in equations.system.initial.items()}
    first_place = geometry.normalised(np.array([start[name] for name in equations.coordinates], dtype=float))
    guessed = {q.data.name for q in reduction.corrections}
    return AssemblySource(
        section("geometry", labels, wanted, constant=True),  # sizes are products of constants, too
        tuple(
            (one_line(a) + " ", " " + one_line(b)) for a, b in (gap_text(reduction, i) for i in layout.gaps)
        ),
        len(rows),
        equations.coordinates,
        layout.speeds,
        tuple(p for p, _ in placed),
        tuple(p for p, _ in rates),
        layout.quaternions,
        dependent,
        holding,
        tuple(int(name not in guessed) for name in equations.coordinates),
        tuple(first_place.tolist()),
        tuple(int(reduction.rows[i] in reduction.elimination.kept) for i in rows),
        one_line(redundant_text(reduction)) if reduction.elimination.redundant else "",
        table is not None,
    )
