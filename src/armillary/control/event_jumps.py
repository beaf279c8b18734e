"""Jumps of a run at events and their adjoint: the transposed saltation matrix.

At an event g(t, x, m, p) = 0 the state x, with rates f, and the memory m become r(t, x, m, p). The marks ⁻
and ⁺ mean before and after the event. The time of the event changes by δt = −δg / ġ, with
ġ = ∂g/∂x f⁻ + ∂g/∂t, so that

    δx⁺ = ∂r/∂(x, m, p) δ(x, m, p) + (ṙ − f⁺) δt,      ṙ = ∂r/∂x f⁻ + ∂r/∂t

and the integral of a cost L changes by (L⁻ − L⁺) δt. The derivatives λ⁻ of a scalar by state and memory
before the event follow from its derivatives λ⁺ by state and memory after the event. In λ⁺ᵀ f⁺ only the states
count, since a memory has no rate:

    η = −( λ⁺ᵀ (ṙ − f⁺) + L⁻ − L⁺ ) / ġ,      λ⁻ = (∂r/∂(x, m, p))ᵀ λ⁺ + η ∂g/∂(x, m, p)

Source: Leine and Nijmeijer (2004), Dynamics and Bifurcations of Non-Smooth Mechanical Systems, for the
saltation matrix.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from armillary.algebra.calculus import pullback, tangents
from armillary.algebra.expression import UNIT, symbol
from armillary.control.adjoint import RunMap
from armillary.errors import ArmillaryError
from armillary.program.formalisms.formalism import derivation
from armillary.runtime.models.compiled_program import ModelFunctions
from armillary.untyped import DataMapping

_GRAZING = 1e-12  # least ġ relative to the largest rate of the states; below it δt is not computed


class JumpShares(NamedTuple):
    """Derivatives by the state and memory before an event, and by parameters."""

    state: np.ndarray
    memory: np.ndarray
    parameters: np.ndarray


class EventJump:
    """One event of a model: the state and memory after the event, and the pullback of its jump."""

    def __init__(self, of: RunMap, event: int) -> None:
        self._of, t = of, of.equations.targets
        self.name = t.watched[event].name
        self._memories, self._states = len(t.memory), len(of.states)
        self._results = [*t.fires[event], t.events[event]]  # memory, states, and the event function

    @cached_property
    def _functions(self) -> ModelFunctions:
        of, owner = self._of, self._of.equations.system.identity
        moves = [symbol(f"move_{i + 1}", "variable", owner=owner) for i in range(self._states)]
        weights = [symbol(f"weight_{i + 1}", "variable", owner=owner) for i in range(len(self._results))]
        t = of.equations.targets
        along = dict(zip((p.symbol for p in of.states), moves, strict=True)) | {t.time: UNIT}
        by = [*(p.symbol for p in of.states), *t.memory, *(p.symbol for p in of.parameters)]
        with derivation():
            made = {
                "after": self._results,
                "moving": tangents(self._results, along),
                "pull": pullback(self._results, weights, by),
            }
        return ModelFunctions(of.equations, made, (*moves, *weights), search=False)

    def after(
        self, t: float, state: np.ndarray, memory: np.ndarray, parameters: DataMapping | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return state and memory after the event."""
        found = self._evaluate("after", t, state, memory, parameters)
        m = self._memories
        return found[m : m + self._states], found[:m]

    def pull(
        self,
        t: float,
        before: tuple[np.ndarray, np.ndarray],
        after: tuple[np.ndarray, np.ndarray],
        parameters: DataMapping | None,
        by_state: np.ndarray,
        by_memory: np.ndarray,
    ) -> JumpShares:
        """Return derivatives by values before the event, from ``by_state`` and ``by_memory`` after it.

        ``before`` and ``after`` are the pairs (state, memory) just before and just after the event.
        """
        n, m = self._states, self._memories
        left, right = (self._rates(t, *place, parameters) for place in (before, after))
        moving = self._evaluate("moving", t, *before, parameters, moves=left[:n])
        rate, weights = moving[-1], np.concatenate([by_memory, by_state, [0.0]])
        sizes = 1.0 + float(np.max(np.abs(left[:n]), initial=0.0))
        if not abs(rate) > _GRAZING * sizes:
            raise ArmillaryError(
                f"gradient: event '{self.name}' of '{self._of.equations.system.name}' is touched, not "
                f"crossed, at t = {t:.6g} s (its rate is {rate:.2g}), and its instant has no derivative there"
            )
        moved = moving[:-1] - np.concatenate([np.zeros(m), right[:n]])
        shift = float(weights[:-1] @ moved) + float(np.sum(left[n:]) - np.sum(right[n:]))
        weights[-1] = -shift / rate
        found = self._evaluate("pull", t, *before, parameters, weights=weights)
        return JumpShares(found[:n], found[n : n + m], found[n + m :])

    def _rates(
        self, t: float, state: np.ndarray, memory: np.ndarray, parameters: DataMapping | None
    ) -> np.ndarray:
        """Return the rates f of the states, followed by the running cost if there is one."""
        f = self._of.functions
        idle = np.zeros(f.length("rates"))
        return f("rates", t, state, memory=memory, inputs=idle, constants=f.constants(parameters))

    def _evaluate(
        self,
        name: str,
        t: float,
        state: np.ndarray,
        memory: np.ndarray,
        parameters: DataMapping | None,
        moves: np.ndarray | None = None,
        weights: np.ndarray | None = None,
    ) -> np.ndarray:
        f = self._functions
        given = np.concatenate([
            np.zeros(self._states) if moves is None else moves,
            np.zeros(len(self._results)) if weights is None else weights,
        ])  # fmt: skip
        return f(name, t, state, memory=memory, inputs=given, constants=f.constants(parameters))
