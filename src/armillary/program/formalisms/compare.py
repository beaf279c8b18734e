"""The cost of a system by every formalism that takes it, side by side."""

from __future__ import annotations

from armillary.columns import html_table
from armillary.errors import ArmillaryError
from armillary.model.description import Description
from armillary.program.derive import derive
from armillary.program.form.cost import Operations
from armillary.program.formalisms.registry import FORMALISMS


class Costs(dict[str, Operations | str]):
    """Operations of one evaluation by formalism, or why one refuses the system; printed as a table."""

    def __str__(self) -> str:
        lines = [f"{'formalism':<20}{'+':>8}{'×':>8}{'÷':>6}{'functions':>12}"]
        for name, *counts, refused in self._rows():
            a, m, d, f = counts
            lines.append(f"{name:<20}  {refused}" if refused else f"{name:<20}{a:>8}{m:>8}{d:>6}{f:>12}")
        return "\n".join(lines)

    __repr__ = __str__

    def _rows(self) -> list[list[str]]:
        rows = []
        for name, cost in self.items():
            if isinstance(cost, str):
                rows.append([name, *[""] * 4, f"refused: {cost.splitlines()[0]}"])
            else:
                counts = (cost.additions, cost.multiplications, cost.divisions, cost.functions)
                rows.append([name, *map(str, counts), ""])
        return rows

    def _repr_html_(self) -> str:
        return html_table(["formalism", "+", "×", "÷", "functions", ""], self._rows(), "<>>>>")


def compare(system: Description) -> Costs:
    """Costs of the system by all formalisms."""
    found = Costs()
    for name in FORMALISMS:
        try:
            found[name] = derive(system, name).operations
        except ArmillaryError as error:
            found[name] = str(error)
    return found
