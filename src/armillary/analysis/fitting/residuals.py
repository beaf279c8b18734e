"""Residuals, model − data, of all experiments, and their derivatives by the unknowns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from armillary.analysis.fitting.experiments import Measured
from armillary.analysis.fitting.unknowns import Unknown, assignments
from armillary.errors import ArmillaryError
from armillary.program.derivatives.sensitivities import derivative_name
from armillary.results import Run
from armillary.runtime.models.compiled import CompiledModel
from armillary.runtime.models.sensitivities import CompiledSensitiveModel
from armillary.settings import RunSettings, StepOptions


def experiment_run(
    model: CompiledModel,
    measured: Measured,
    times: np.ndarray,
    steps: StepOptions,
    parameters: Mapping[str, float],
    initial: Mapping[str, float],
) -> Run:
    """The run of an experiment, with some parameters and initial values found so far."""
    given = measured.experiment
    span = {"t_end": float(measured.time[-1]), "t0": given.t0, "sample": times}
    settings, _ = RunSettings.among(span | {**steps})
    return model.run_with(
        settings,
        parameters={**given.parameters, **parameters},
        initial={**given.initial, **initial},
        memory=given.memory,
        inputs=given.inputs,
    )


@dataclass(eq=False)
class Residuals:
    """r = (model − data)/σ of all measurements, and ∂r/∂x, as functions of the unknowns x.

    Both come from one run per experiment, of the model with its derivatives. ``scale`` has a σ for each
    column; a run that fails gives NaN, from which a fit turns back.
    """

    model: CompiledSensitiveModel
    experiments: Sequence[Measured]
    unknowns: Sequence[Unknown]
    steps: StepOptions
    scale: dict[str, float]
    evaluations: int = 0
    _at: np.ndarray | None = field(default=None, repr=False)
    _found: tuple[np.ndarray, np.ndarray] = field(default=(np.empty(0), np.empty(0)), repr=False)

    def __post_init__(self) -> None:
        self.rows = [(i, c) for i, m in enumerate(self.experiments) for c in m.columns]
        self.kept = [np.isfinite(self.experiments[i].columns[c]) for i, c in self.rows]
        self.owner = np.concatenate([np.full(k.sum(), j) for j, k in enumerate(self.kept)])

    def sigma(self) -> np.ndarray:
        """The σ of every measurement: given, or that of its column."""
        parts = []
        for (i, c), kept in zip(self.rows, self.kept, strict=True):
            given = self.experiments[i].sigma.get(c)
            parts.append(np.full(kept.sum(), self.scale[c]) if given is None else given[kept])
        return np.concatenate(parts)

    def plain(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """model − data and its derivatives, in the units of the outputs."""
        if self._at is None or not np.array_equal(self._at, x):
            self.evaluations += 1
            try:
                self._found = self._computed(x)
            except ArmillaryError as error:
                if self.evaluations == 1:
                    raise ArmillaryError(f"from where the fit starts: {error}") from error
                self._found = np.full(len(self.owner), np.nan), np.full((len(self.owner), len(x)), np.nan)
            self._at = np.array(x)
        return self._found

    def _computed(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        differences, rows = [], []
        for i, m in enumerate(self.experiments):
            run = experiment_run(self.model, m, m.time, self.steps, *assignments(self.unknowns, x, i))
            if len(run) < len(m.time):
                raise ArmillaryError(
                    f"the run of {m.name} ends at {run.time[-1] if len(run) else m.experiment.t0:.6g} s, "
                    f"before its data do at {m.time[-1]:.6g} s"
                )
            for column, data in m.columns.items():
                kept = np.isfinite(data)
                differences.append(run[column][kept] - data[kept])
                block = np.zeros((kept.sum(), len(x)))
                for j, u in enumerate(self.unknowns):
                    if u.experiment in (None, i):
                        block[:, j] = run[derivative_name(column, u.name)][kept]
                rows.append(block)
        return np.concatenate(differences), np.vstack(rows)

    def values(self, x: np.ndarray) -> np.ndarray:
        """Residuals over σ."""
        found: np.ndarray = self.plain(x)[0] / self.sigma()
        return found

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        """Their derivatives by the unknowns."""
        found: np.ndarray = self.plain(x)[1] / self.sigma()[:, None]
        return found

    def by_column(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """model − data of each column, of all experiments together."""
        left = self.plain(x)[0]
        found: dict[str, list[np.ndarray]] = {}
        for j, (_, c) in enumerate(self.rows):
            found.setdefault(c, []).append(left[self.owner == j])
        return {c: np.concatenate(parts) for c, parts in found.items()}
