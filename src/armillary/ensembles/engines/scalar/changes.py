"""The configurations that runs of a batch may enter in the scalar engine's loop.

They are those that runs of the model have met so far, as in a single run
(runtime/models/configurations/run_changes.py), but each run has constants and sizes of states of its own, and
programs have just the outputs of the batch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armillary.ensembles.plan import Plan
from armillary.ensembles.request import restricted
from armillary.llvm.jit import Compiled
from armillary.llvm.sections import process_text
from armillary.runtime.integrators.records import RunChanges
from armillary.runtime.loop.layout import SECTIONS
from armillary.runtime.models.configurations.changes import ChangeCode
from armillary.runtime.models.configurations.configurations import Configurations
from armillary.runtime.models.configurations.run_changes import known_changes
from armillary.runtime.models.programs.configured_program import ConfiguredProgram
from armillary.runtime.models.programs.instance import Instance


@dataclass(frozen=True)
class ScalarChanges:
    """Tables of the loop, and what computes the constants of each configuration."""

    tables: RunChanges
    models: tuple[ConfiguredProgram, ...]
    sections: tuple[
        ChangeCode, ...
    ]  # that lead into configurations and out of them, made before threads begin
    codes: tuple[Compiled | None, ...]  # outputs of the batch alone, where these are not all
    ratings: tuple[ChangeCode | None, ...]  # of choices of dependent speeds, where there are several
    first: int  # number of the configuration in which runs start

    def room(self) -> ScalarRoom:
        """Tables and constants for one thread."""
        sections, figures = self.tables.sections.copy(), self.tables.figures.copy()
        precompute: list[int] = []
        sizes: list[int] = []
        constants: list[np.ndarray] = []
        for c, (model, code) in enumerate(zip(self.models, self.codes, strict=True)):
            if code is not None:
                sections[c, SECTIONS.index("outputs")] = code.address("outputs")
            own = {"constants": (model.address("precompute"), len(model.equations.program.constants))}
            for name in self.sections[c].lengths:  # which a table of one configuration has not
                sections[c, SECTIONS.index(name)] = self.sections[c].address(name)
            codes = {"change_constants": self.sections[c], "rating_constants": self.ratings[c]}
            own |= {
                name: (made.address("precompute"), len(made.program.constants))
                for name, made in codes.items()
                if made is not None
            }
            for name, (address, size) in own.items():
                constants.append(np.zeros(max(size, 1)))
                sections[c, SECTIONS.index(name)] = constants[-1].ctypes.data
                precompute += [address, constants[-1].ctypes.data]
            first = figures[self.tables.shape.first_size(self.tables.events, c) :].ctypes.data
            for state, place in model.equations.size_constants.items():
                sizes += [int(sections[c, SECTIONS.index("constants")]) + 8 * place, first + 8 * state]
        functions, sized = (np.array(found, dtype=np.int64) for found in (precompute, sizes))
        return ScalarRoom(sections, figures, functions, sized, constants)


@dataclass(frozen=True)
class ScalarRoom:
    """Addresses of sections by configuration, and their figures; addresses of functions and the constants
    that they compute, in pairs; of constants that are sizes of states, and their places among the figures.
    """

    sections: np.ndarray
    figures: np.ndarray
    precompute: np.ndarray
    sizes: np.ndarray
    constants: list[np.ndarray]


def scalar_changes(plan: Plan) -> ScalarChanges | None:
    """The data of a model's configurations; None where runs cannot change theirs in the loop."""
    model = plan.code
    if not model.changes_configuration or np.ndim(plan.settings.atol) or plan.method.tableau is None:
        return None
    first = model.equations.configuration
    given = plan.starts.single(0)["parameters"]  # any will do: each run has constants and sizes of its own
    known = known_changes(Configurations(model.configuration_models, first, Instance(model, given)))
    if known is None or (len(known.configurations) < 2 and not known.tables.shape.passing):
        return None
    models = tuple(model.configuration_models[c] for c in known.configurations)
    codes = tuple(_outputs(plan, other) for other in models)
    rated = known.tables.sections[:, SECTIONS.index("ratings")]
    choices = (model.choices(c.locked) if rated[n] else None for n, c in enumerate(known.configurations))
    ratings = tuple(found.code if found is not None else None for found in choices)
    sections = tuple(other.change_code for other in models)
    return ScalarChanges(known.tables, models, sections, codes, ratings, known.configurations.index(first))


def _outputs(plan: Plan, model: ConfiguredProgram) -> Compiled | None:
    """Code for the outputs of a batch in another configuration."""
    program = restricted(model.equations.program, model.output_names, plan.columns)
    if program is model.equations.program:
        return None
    return Compiled(process_text(program))
