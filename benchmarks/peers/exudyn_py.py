"""Exudyn: linkages of rigid bodies with multipliers, in a process of its own under the peers' interpreter.

Its explicit methods take no loops, so two things are timed. `start` is its own evaluation of accelerations,
which begins every run: mass matrix, right-hand side, Jacobian of the loops, one solution with multipliers.
`Newton` is an iteration of its implicit step: right-hand side, constraints and a back substitution, with the
Jacobian kept from step to step. The second is less than an evaluation of accelerations; the quickest counts.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from benchmarks.build import HERE, NotAvailable
from benchmarks.candidate import Candidate
from benchmarks.environment import Environment
from benchmarks.linkages import Linkage
from benchmarks.models import Model, Pool

DIFFERENCES = 1e-6
"""Largest relative error: Exudyn takes J̇ v from numerical differences; measured, up to 2e-8."""
TIMED = {"start": "starting", "Newton": "newton"}


class Worker:
    """A linkage in Exudyn that answers questions; its process ends with this object, which has its input."""

    def __init__(self, linkage: Linkage, states: Pool, formulation: str, environment: Environment) -> None:
        script = HERE / "peers" / "exudyn_script.py"
        self._process = subprocess.Popen(
            [environment.python, str(script), formulation], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        pool = {name: getattr(states, name).tolist() for name in ("q", "v", "tau")}
        self._exchange({**asdict(linkage), **pool})

    def ask(self, question: str, *values: float) -> Any:
        return self._exchange({"ask": question, "values": values})

    def _exchange(self, message: dict[str, Any]) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()
            reply = json.loads(self._process.stdout.readline() or '{"failure": "Exudyn ended"}')
        except BrokenPipeError:
            reply = {"failure": "Exudyn did not start"}
        if "failure" in reply:
            raise NotAvailable(reply["failure"][:200])
        return reply["answer"]


@dataclass(frozen=True, kw_only=True)
class Remote(Candidate):
    """One of the worker's evaluations."""

    worker: Worker
    timed: str

    def at(self, state: int, nv: int) -> np.ndarray:
        return np.array(self.worker.ask("accelerations", state))

    def stopwatch(self, chunk: float) -> Callable[[], float]:
        return lambda: self.worker.ask(self.timed, chunk)


def candidates(model: Model, states: Pool, environment: Environment) -> list[Remote]:
    assert isinstance(model, Linkage)
    environment.need("exudyn")
    made = []
    for formulation in ("tree", "bodies") if model.planar else ("tree",):
        worker = Worker(model, states, formulation, environment)
        made += [
            Remote(name=f"Exudyn {formulation} {what}", worker=worker, timed=question, tolerance=DIFFERENCES)
            for what, question in TIMED.items()
        ]
    return made
