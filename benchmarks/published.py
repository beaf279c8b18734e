"""Operation counts of Armillary's examples beside the published ones.

Counting rule of both: each binary + or − is an addition; each ×, ÷ and power a multiplication; functions
apart; unary minus and precomputed constants free. Source: Sayers (1990), tables of sections 9.1, 9.4, 9.5
and 9.6. The spacecraft's columns count functions with the multiplications; the arm's does not, nor does the
car's, whose printed equations have 108 multiplications and 6 functions apart.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
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

    def beside(self, ours: Operations) -> tuple[int, int]:
        """Our additions and multiplications, counted as the published ones were."""
        products = ours.multiplications + ours.divisions + (ours.functions if self.counts_functions else 0)
        return ours.additions, products


AUTOSIM = (
    Published("Stanford arm", "stanford_arm", 240, 353, False, (("controller", False),)),
    Published("Spacecraft 1", "spacecraft_1", 628, 791, counts_functions=True),
    Published("Spacecraft 2", "spacecraft_2", 338, 455, counts_functions=True),
    Published("car", "car", 67, 108, counts_functions=False),
)
ARM_GOAL = (180, 270)
"""What Armillary asks of itself on the arm, functions apart."""


def example_system(name: str, **options: Any) -> Any:
    """The system that an example file describes."""
    path = HERE.parent / "examples" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"armillary_example_{name}", path)
    if spec is None or spec.loader is None or not path.exists():
        raise FileNotFoundError(f"examples/{name}.py is missing")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.system(**options)


def count_examples() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for item in AUTOSIM:
        row: dict[str, Any] = {"title": item.title, "published": [item.additions, item.multiplications]}
        try:
            counts = Operations.of(equations := example_system(item.example, **dict(item.options)).derive())
            row |= {
                "ours": list(item.beside(counts)),
                "functions": counts.functions,
                "formalism": equations.formalism,
            }
        except Exception as error:  # an example that fails is reported, and the run goes on
            row["missing"] = f"{type(error).__name__}: {error}"
        rows.append(row)
    return rows
