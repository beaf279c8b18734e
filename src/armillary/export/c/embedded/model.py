"""A system's functions for microcontrollers: the C of export/c without tables of names and assembly."""

from __future__ import annotations

from collections.abc import Iterable

from armillary.export.c.embedded.precision import LIBRARY, in_precision
from armillary.export.c.model import CModel
from armillary.export.c.printer import CPrinter
from armillary.export.text.closing import closing
from armillary.export.text.features import features
from armillary.export.text.files.template import fill, template
from armillary.export.text.printing.layout import wrapped
from armillary.export.text.source import Sections, Source
from armillary.mechanics.constraints.closing_thresholds import FEW_CORRECTIONS


def embedded_features(source: Source, precision: str) -> set[str]:
    """The features of a system that programs for microcontrollers can have."""
    found = {*features(source), "embedded"} - {"masses", "physical"}
    found |= {"inputs"} if any(m.input for m in source.description.memory) else set()
    found |= {"clocked"} if "passing" in found else set()
    found |= {"single_precision"} if precision == "single" else set()
    begins = {"corrected", "loops"} <= found and not source.prefix
    return found | {"kernel"} if begins else found


class EmbeddedPrinter(CPrinter):
    """C with one angle at a time: vectors of four are for larger machines. Sines are the program's own."""

    paired_angles = 1
    functions = {**CPrinter.functions, "sin": "sine_of", "cos": "cosine_of"}  # noqa: RUF012
    keywords = CPrinter.keywords | {f"{name}f" for name in LIBRARY}


class EmbeddedModel(CModel):
    """One system's functions, in single or double precision."""

    kind_of_printer = EmbeddedPrinter
    arranges = False

    def __init__(self, source: Source, precision: str) -> None:
        super().__init__(source)
        self.precision = precision
        self.sections = Sections(source, self.printer, ("sine_cosine",))

    def further(self, source: Source) -> EmbeddedModel:
        return EmbeddedModel(source, self.precision)

    @property
    def has(self) -> set[str]:
        return embedded_features(self.source, self.precision)

    @property
    def values(self) -> dict[str, str]:
        own = {f"{kind}_value": f"{self.stem}_{kind}_values[i]" for kind in ("parameter", "state", "memory")}
        names = ("_changes", *(other.prefix for other in self.source.others))
        own["further"] = "".join(f" src/{self.stem}{name}.c" for name in names if self.source.changing)
        own["closing"] = f" src/{self.stem}_assembly.c" if self.source.assembly is not None else ""
        if "reclosing" in self.has:  # steps need it
            own["further"], own["closing"] = own["further"] + own["closing"], ""
        own |= {**closing(self.precision, FEW_CORRECTIONS), "precision": self.precision}
        return super().values | own | {"real": "float" if self.precision == "single" else "double"}

    def in_precision(self, code: str) -> str:
        """C text of doubles in the precision of this model."""
        return in_precision(code, self.precision)

    def sines(self, code: str) -> str:
        called = {name for name in ("sine_of", "cosine_of") if f"{name}(" in code}
        wanted = called or "sine_cosine(" in code
        return fill(template(__package__, "trigonometry.c.txt"), {}, self.has | called) if wanted else ""

    def pivot_shares(self) -> str:
        return ""  # runs end where a value is no longer finite; no search for the mass to blame

    def physical(self) -> str:
        return ""

    def quantities(self) -> str:
        """Default values as constant tables."""
        d = self.description
        tables: dict[str, list[float | None]] = {
            "parameter": [p.default if p.needed or p.default is not None else 0.0 for p in d.parameters],
            "state": [s.initial for s in d.starts],
            "memory": [m.initial for m in d.memory],
        }
        return "\n".join(self._table(kind, values) for kind, values in tables.items())

    def _table(self, kind: str, values: Iterable[float | None]) -> str:
        numbers = ["NAN" if v is None else self.printer.number(float(v)).text for v in values] or ["0.0"]
        text = f"const double {self.stem}_{kind}_values[{len(numbers)}] = {{{', '.join(numbers)}}};"
        return "\n".join([*wrapped(text, 110, "", "    "), ""])
