"""Signatures of everything public, with all defaults; ``python -m tests.kept_signatures`` writes them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import armillary as arm
import armillary.control as control
import armillary.vehicles as veh

KEPT = Path(__file__).with_name("kept_signatures.txt")


def signature(made: object) -> str:
    """The signature without annotations, which type checkers compare, and without addresses of objects."""
    try:
        found = inspect.signature(made)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return "(…)"
    bare = found.replace(
        parameters=[p.replace(annotation=inspect.Parameter.empty) for p in found.parameters.values()],
        return_annotation=inspect.Signature.empty,
    )
    return re.sub(r" at 0x[0-9a-f]+", "", str(bare))


def lines_of(module: ModuleType) -> Iterator[str]:
    """A line for each public function and class and each of its public methods."""
    for name in sorted(module.__all__):
        made = getattr(module, name)
        if isinstance(made, type):
            error = issubclass(made, Exception)
            yield f"{module.__name__}.{name}{'' if error else signature(made)}"
            methods = () if error else (m for m in dir(made) if not m.startswith("_"))
            for method in methods:
                found = inspect.getattr_static(made, method)
                found = found.__func__ if isinstance(found, staticmethod | classmethod) else found
                if inspect.isfunction(found) and found.__module__.startswith("armillary"):
                    yield f"{module.__name__}.{name}.{method}{signature(found)}"
        elif callable(made):
            yield f"{module.__name__}.{name}{signature(made)}"


def signatures() -> list[str]:
    return [line for module in (arm, control, veh) for line in lines_of(module)]


def unnamed_options(text: str) -> list[str]:
    """The keywords with defaults of kept functions and methods that a text neither gives, ``name=``, nor has
    as keys, ``"name":``; without those of classes, whose fields analyses fill.
    """
    given = {a or b for a, b in re.findall(r'\b(\w+)=(?!=)|"(\w+)":', text)}
    found = []
    for line in KEPT.read_text(encoding="utf-8").splitlines():
        name, _, arguments = line.removesuffix(")").partition("(")
        while "(" in arguments:  # of defaults
            arguments = re.sub(r"\([^()]*\)", "", arguments)
        if name.rpartition(".")[2][0].islower():
            found += [f"{name} {k}" for k in re.findall(r"\b(\w+)=", arguments) if k not in given]
    return found


if __name__ == "__main__":
    KEPT.write_text("\n".join(signatures()) + "\n", encoding="utf-8")
