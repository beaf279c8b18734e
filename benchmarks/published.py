"""Operation counts of Armillary's examples beside the published ones.

Counting rule of both: each binary + or − is an addition; each ×, ÷ and power a multiplication; functions
apart; unary minus and precomputed constants free. Source: Sayers (1990), tables of sections 9.1, 9.4, 9.5
and 9.6, listings of sections 9.2 and 9.3. The columns of the spacecraft and of the car with small variables
count functions with the multiplications; the others do not, nor does the nonlinear car's, whose printed
equations have 108 multiplications and 6 functions apart. Of the car with small variables the lower of two
published counts is taken, that without variables for forces.
"""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from benchmarks.build import HERE
from benchmarks.candidate import Operations


@dataclass(frozen=True)
class Published:
    title: str
    example: str  # file in examples/, with a function `system()` that describes the model
    additions: int
    multiplications: int
    counts_functions: bool
    options: tuple[tuple[str, Any], ...] = ()  # of that function
    judgement: str = ""  # the example that says what is SMALL and LARGE

    def beside(self, ours: Operations) -> tuple[int, int]:
        """Our additions and multiplications, counted as the published ones were."""
        products = ours.multiplications + ours.divisions + (ours.functions if self.counts_functions else 0)
        return ours.additions, products


AUTOSIM = (
    Published("Stanford arm", "stanford_arm", 240, 353, False, (("controller", False),)),
    Published("Spacecraft 1", "spacecraft_1", 628, 791, counts_functions=True),
    Published("Spacecraft 2", "spacecraft_2", 338, 455, counts_functions=True),
    Published("car", "car", 67, 108, counts_functions=False),
    Published("car, small variables", "car", 15, 19, counts_functions=True, judgement="car_small"),
    Published(
        "Spacecraft 1, small variables",
        "spacecraft_1",
        442,
        514,
        counts_functions=True,
        judgement="spacecraft_1_small",
    ),
    Published("cart", "cart", 48, 94, counts_functions=False),
    Published("four-bar linkage", "four_bar", 81, 141, counts_functions=False),
)
ARM_GOAL = (180, 270)
"""What Armillary asks of itself on the arm, functions apart."""


def example_module(name: str) -> ModuleType:
    """An example file; it may import another one by its plain name, as it does when it is run."""
    path = HERE.parent / "examples" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"armillary_example_{name}", path)
    if spec is None or spec.loader is None or not path.exists():
        raise FileNotFoundError(f"examples/{name}.py is missing")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module


def example_system(name: str, *, judgement: str = "", **options: Any) -> Any:
    """The system that an example file describes."""
    system = example_module(name).system(**options)
    if judgement:
        judged = example_module(judgement)
        system.small(*judged.SMALL)
        if large := getattr(judged, "LARGE", ()):
            system.large(*large)
    return system


def count_examples() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for item in AUTOSIM:
        row: dict[str, Any] = {"title": item.title, "published": [item.additions, item.multiplications]}
        try:
            described = example_system(item.example, judgement=item.judgement, **dict(item.options))
            counts = Operations.of(equations := described.derive())
            row |= {
                "ours": list(item.beside(counts)),
                "functions": counts.functions,
                "formalism": equations.formalism,
            }
        except Exception as error:  # an example that fails is reported, and the run goes on
            row["missing"] = f"{type(error).__name__}: {error}"
        rows.append(row)
    return rows


def searched_counts() -> dict[str, tuple[int, int]]:
    """Additions and multiplications of the arm after a search, without and with its shoulder offset."""
    from benchmarks.models import MODELS
    from benchmarks.ours import system

    arms = {"arm": system(MODELS["arm"]), "stanford_arm": example_system("stanford_arm", controller=False)}
    found = {key: Operations.of(described.derive(effort="high")) for key, described in arms.items()}
    return {key: (counts.additions, counts.multiplications) for key, counts in found.items()}
