"""The cost of a system by every formalism that takes it, side by side."""

from __future__ import annotations

from armillary.errors import ArmillaryError
from armillary.model.description import Description
from armillary.program.derive import derive
from armillary.program.form.cost import Operations
from armillary.program.formalisms.registry import FORMALISMS


class Costs(dict[str, Operations | str]):
    """Operations of one evaluation by formalism, or why one refuses the system; printed as a table."""

    def __str__(self) -> str:
        lines = [f"{'formalism':<20}{'+':>8}{'×':>8}{'÷':>6}{'functions':>12}"]
        for name, cost in self.items():
            if isinstance(cost, str):
                lines.append(f"{name:<20}  refused: {cost.splitlines()[0]}")
            else:
                o = cost
                lines.append(
                    f"{name:<20}{o.additions:>8}{o.multiplications:>8}{o.divisions:>6}{o.functions:>12}"
                )
        return "\n".join(lines)

    __repr__ = __str__


def compare(system: Description) -> Costs:
    """Costs of the system by all formalisms."""
    found = Costs()
    for name in FORMALISMS:
        try:
            found[name] = derive(system, name).operations
        except ArmillaryError as error:
            found[name] = str(error)
    return found
