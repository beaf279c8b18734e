"""A study file against its model: what varies known by name and in its units, and the study it describes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from armillary.ensembles.metrics import read_metric
from armillary.errors import ArmillaryError, nearest, shortened
from armillary.model.parameter_meanings import parameter_units
from armillary.run_files.execute import Simulation
from armillary.run_files.resolve import RunValues, resolve
from armillary.run_files.run_file import COMMAND_LINE, RunFileError, by_dotted_name, where
from armillary.studies.definition.definition import definition_for_writing, read_definition
from armillary.studies.sampling import Design
from armillary.studies.store.folder import Folder
from armillary.studies.study import Study
from armillary.studies.study_files.study_file import StudyFile
from armillary.untyped import DataTable, Given

if TYPE_CHECKING:
    from armillary.stages.equations import Equations

_DESIGN = ("runs", "seed", "levels", "second_order")  # keys of [study] that are arguments of Design
_OTHERS = ("block", "watch", "precision")  # and of Study


class StudySetup(Simulation):
    """One study file with its model; each stage is done once, when it is first needed.

    ``options`` are those with which the model is loaded, such as ``trust=True``: not the file's to give.
    """

    def __init__(self, file: StudyFile, **options: Given) -> None:
        self.study_file = file
        super().__init__(file.run, **options)
        self.folder = self._folder()

    def study(self) -> Study:
        """The study, new or as far as its folder has it.

        Where the folder's is the same with fewer runs, it is extended, if its design allows that.
        """
        settings = self.run_settings()
        if "tier" in self.values.settings:
            source = self.values.settings["tier"].source
            raise RunFileError(
                [f"{source}: runs of a study have final code, to be repeated anywhere; leave out tier"]
            )
        self.check_places()
        self.check_values()
        model = self.model  # by which names of outputs are known
        given = {name: entry.value for name, entry in self.study_file.settings.items()}
        how = {
            "vary": self.vary,
            "metrics": self.metrics or None,
            "outputs": self.names if self.values.select else None,
            **{name: given[name] for name in ("design", *_DESIGN, *_OTHERS) if name in given},
            **settings.changed(),
            **self.given(),
        }
        wanted, there = self.design, read_definition(Folder(self.folder))
        if there is not None and there.runs < wanted.runs and wanted.open_ended:
            return Study(model, self.folder, **{**how, "runs": there.runs}).extend(wanted.runs)
        return Study(model, self.folder, **how)

    @property
    def missing(self) -> list[str]:
        varied = self.design.names
        return [name for name in super().missing if name not in varied]

    @cached_property
    def equations(self) -> Equations:
        made = super().equations
        self.metrics = self._known_metrics([column.name for column in made.targets.columns])
        return made

    def _known_metrics(self, known: list[str]) -> dict[str, str]:
        """Metrics as texts, of outputs that the model has."""
        problems = []
        for name, entry in self.study_file.metrics.items():
            output = read_metric(entry.value).output
            if output not in known:
                problem = shortened(f"metric '{name}': no output '{output}'{nearest(output, known)}")
                problems.append(f"{entry.source}: {problem}")
        if problems:
            raise RunFileError(problems)
        return {name: entry.value for name, entry in self.study_file.metrics.items()}

    def check_places(self) -> None:
        """An error for a folder that holds something else, before anything is computed."""
        definition_for_writing(Folder(self.folder))

    def _folder(self) -> Path:
        entry = self.study_file.settings.get("folder")
        if entry is None:
            return self.file.folder / self.file.stem
        # A path on the command line is relative to where the command is given.
        return Path(entry.value) if entry.source == COMMAND_LINE else self.file.folder / entry.value

    # ------------------------------------------------------------ what varies

    def _resolved(self) -> RunValues:
        """The values of all runs; one error has all that is wrong with the file."""
        self.vary, problems = self._varied()
        if not problems and self.vary and not self.file.problems:
            problems = self._design_problems()
        return resolve(replace(self.file, problems=(*self.file.problems, *problems)), self.system)

    def _varied(self) -> tuple[DataTable, list[str]]:
        """Distributions by name, each checked by itself; and what is wrong with them."""
        known, units, document = self._names(), self._units(), self.study_file.document

        def holds_names(name: str) -> bool:
            return name not in known and any(other.startswith(f"{name}.") for other in known)

        found, problems = {}, []
        for name, (keys, value) in by_dotted_name(self.study_file.vary, holds_names).items():
            together = isinstance(value, Mapping) and "correlated" in value
            if together and isinstance(value["correlated"], Mapping):
                value = {
                    **value,
                    "correlated": {
                        n: v for n, (_, v) in by_dotted_name(value["correlated"], holds_names).items()
                    },
                }
                members = list(value["correlated"])
            else:
                members = [name]
            found[name] = value
            problems += [
                f"{where(document, 'vary', *keys)}: {problem}"
                for problem in self._member_problems(name, value, members, known, units)
            ]
        return found, problems

    def _member_problems(
        self, name: str, value: object, members: list[str], known: list[str], units: dict[str, str]
    ) -> Iterator[str]:
        """The errors in the variation of one name."""
        fixed = {**self.file.parameters, **self.file.initial, **self.file.inputs, **self.file.memory}
        unknown = [member for member in members if member not in known]
        for member in unknown:
            yield (
                f"varied '{member}': there is no such parameter, coordinate, speed, state or memory"
                f"{nearest(member, known)}"
            )
        for member in members:
            if member in fixed:
                yield f"'{member}' is varied, and has a value at {fixed[member].source}: leave one out"
        if not unknown:
            try:
                Design({name: value}, runs=1, units=units)
            except ArmillaryError as error:
                yield str(error)

    def _design_problems(self) -> list[str]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the study itself warns
                _ = self.design
        except ArmillaryError as error:
            return [f"{where(self.study_file.document, 'study')}: {error}"]
        return []

    @cached_property
    def design(self) -> Design:
        """The values of all runs."""
        given = {name: entry.value for name, entry in self.study_file.settings.items()}
        how = {name: given[name] for name in _DESIGN if name in given}
        return Design(self.vary, given.get("design", "random"), **how, units=self._units())

    def _names(self) -> list[str]:
        system = self.system
        return [*system.parameters, *(s.data.name for s in system.initial), *system.memories]

    def _units(self) -> dict[str, str]:
        memories = {name: m.symbol.data.units or "" for name, m in self.system.memories.items()}
        states = {s.data.name: s.data.units or "" for s in self.system.initial}
        return memories | states | parameter_units(self.system)
