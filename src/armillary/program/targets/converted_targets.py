"""Targets of programs whose states are others than the speeds: momenta, or speeds that the program chose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from armillary.algebra.expression import Expr
from armillary.algebra.walk import transform
from armillary.program.targets.targets import StepSection, Targets


def converted_targets(
    wanted: Targets,
    states: Mapping[Expr, Expr],
    *,
    names: Sequence[str],
    speeds: Sequence[Expr],
    by_states: Sequence[Expr],
    by_speeds: Sequence[Expr],
    accelerations: Sequence[Expr],
    inputs: Mapping[Expr, Expr],
) -> Targets:
    """The targets with ``states``, by name and with their rates, in place of the independent speeds.

    ``by_states`` are these speeds as functions of the states, ``by_speeds`` the states as functions of
    ``speeds``, for which the section that makes states of speeds has ``inputs``.
    """
    first = len(wanted.memory)
    end, count = first + len(wanted.coordinates), len(wanted.coordinates)
    last = end + len(speeds)
    before = (*wanted.coordinates, *by_states)

    def fire_event(after: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Memory and state after an event that leaves these memory, coordinates and speeds."""
        if all(x is y for x, y in zip(before, after[first:last], strict=True)):
            return (*after[:end], *states, *after[last:])
        new = dict(zip((*wanted.coordinates, *speeds), after[first:last], strict=True))
        return (*after[:end], *transform(list(by_speeds), new.get), *after[last:])

    return replace(
        wanted,
        speeds=tuple(states),
        rates=(*wanted.rates[:count], *states.values(), *wanted.rates[count + len(states) :]),
        fires=tuple(map(fire_event, wanted.fires)),
        inputs=tuple(inputs.values()),
        stepping=(
            StepSection("momenta", tuple(names), tuple(transform(list(by_speeds), inputs.get))),
            StepSection("accelerations", tuple(f"{u.data.name}'" for u in speeds), tuple(accelerations)),
        ),
    )
