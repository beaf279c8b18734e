"""Studies: many runs of a model over a design, kept on disk, and continued after an interruption."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Unpack

from armillary.algebra.node import positive_whole
from armillary.ensembles.batch import check_device, thread_count
from armillary.ensembles.metrics import Metrics
from armillary.errors import ArmillaryError, ModelError, ParameterError, require
from armillary.limited_files import reason
from armillary.model.units import in_seconds
from armillary.runtime.inputs.reading import read_inputs
from armillary.runtime.inputs.signal import Signal
from armillary.runtime.models.compiled import CompiledModel, compiled_model
from armillary.settings import RunSettings, SettingOptions, expanded_signature, run_settings
from armillary.studies.definition import (
    Definition,
    check_same,
    definition_for_writing,
    identity,
    plain_data,
    read_definition,
    read_design,
    rebuild_model,
    save_model,
    text_checksum,
    text_differences,
    write_design,
)
from armillary.studies.folder import Folder, StudyLock, check_disk
from armillary.studies.reading import consolidate, is_consolidated
from armillary.studies.records import (
    BlockRecord,
    describe_store,
    finished_blocks,
    forget_columns,
    keep_signals,
    read_signals,
)
from armillary.studies.results import Progress, StudyResults, StudyStatus, reporting
from armillary.studies.runs import (
    INPUTS,
    BlockMaker,
    ModelRuns,
    RunMaker,
    Values,
    arguments,
    define,
    run_here,
    units_of,
)
from armillary.studies.sampling import Design
from armillary.untyped import Given
from armillary.version import VERSION

if TYPE_CHECKING:
    from armillary.results import Run
    from armillary.stages.model import Model


class Study(StudyResults):
    """Many runs of a model, kept in a folder.

        study = arm.Study(model, "studies/car", 2.0, step=0.005,
            vary={"m": arm.Normal(1000, 50), "mu": arm.Uniform(0.4, 1.0)}, design="sobol", runs=8192, seed=1,
            metrics={"peak": "maximum(yaw rate)"}, outputs=["yaw rate"], sample=0.05)
        study.run()
        study.table(); study.dataset(); study.rerun(123)

    ``vary`` names parameters and initial values with their distributions; ``design``, ``runs``, ``seed``,
    ``levels`` and ``second_order`` are arguments of ``Design``. Histories of ``outputs`` are kept at
    ``sample`` times; the remaining arguments go to ``simulate_batch``; ``inputs`` over time are the same for
    all runs. ``block`` is the number of runs that are made and written together; a study that exists keeps
    its number. When an interrupted study is run again, it makes only the blocks that are missing. If the
    folder holds another study, an error is raised. ``build`` ("package.module:function") is for the workers
    of a cluster, if no text can describe the model. ``trust`` allows the workers to load the FMUs that the
    model's text names, which are machine code.
    """

    @expanded_signature(SettingOptions)
    def __init__(
        self,
        model: Model,
        path: str | os.PathLike[str],
        t_end: float | str,
        *,
        vary: Mapping[str, object],
        design: str = "random",
        runs: int | None = None,
        seed: int = 0,
        levels: int | Mapping[str, int] | None = None,
        second_order: bool = False,
        metrics: Metrics | None = None,
        outputs: Sequence[str] | None = None,
        watch: float | str | None = None,
        block: int | None = None,
        build: str | None = None,
        parameters: Mapping[str, object] | None = None,
        initial: Mapping[str, object] | None = None,
        memory: Mapping[str, object] | None = None,
        inputs: object = None,
        precision: str = "double",
        trust: bool = False,
        **settings: Unpack[SettingOptions],
    ) -> None:
        core = compiled_model(model, "Study()")
        chosen = Design(
            vary, design, runs, seed, levels=levels, second_order=second_order, units=units_of(core)
        )
        how = {
            "parameters": parameters, "initial": initial, "memory": memory,
            "watch": in_seconds("watch", watch), "precision": None if precision == "double" else precision,
        }  # fmt: skip
        record = run_settings(Study, t_end, **settings)
        given = record.non_defaults() | {key: value for key, value in how.items() if value is not None}
        signals = _signals(core, inputs, record)
        if signals:
            given[INPUTS] = signals
        folder = Folder.at(path)
        there = definition_for_writing(folder)
        definition = define(core, chosen, given, metrics, outputs, block)
        if there is not None:
            definition = definition.with_block(there.layout.block)
            check_same(there, definition, folder, partial(text_differences, folder, core))
        self._set(folder, definition, chosen, model, build, trust=trust)
        self._signals: dict[str, Signal] = signals

    def _set(
        self,
        folder: Folder,
        definition: Definition,
        design: Design | None,
        model: Model | None,
        build: str | None,
        *,
        trust: bool,
    ) -> None:
        self._folder, self._definition, self._design = folder, definition, design
        self._model, self._build, self._trust = model, build, trust
        self._no_text = ""  # why the model has no text
        self._signals = {}

    @property
    def model(self) -> Model:
        """The model; an opened study builds it from its text."""
        if self._model is None:
            if self._build is None and not self._folder.model.is_file():
                raise ArmillaryError(
                    f"study '{self.path}' has no text of its model: open it with model= or "
                    "build='package.module:function'"
                )
            about = self._definition.content["model"]
            self._model = rebuild_model(self._folder, about, build=self._build, trust=self._trust)
        return self._model

    @property
    def inputs(self) -> dict[str, Signal]:
        """Inputs over time, the same for all runs; an opened study reads them from its folder."""
        if not self._signals:
            self._signals = read_signals(self._folder, self._definition.inputs)
        return dict(self._signals)

    # ------------------------------------------------------------ running

    def run(
        self,
        on: object = None,
        *,
        progress: bool | Callable[[StudyStatus], object] = True,
        threads: int | None = None,
        device: str = "cpu",
    ) -> Study:
        """Make all runs that are missing, in this process or ``on`` a Dask client or a scheduler's address,
        and return the study.

        ``progress`` shows a line on a terminal, or calls a function with the status after each block. On a
        cluster each task uses one thread, unless ``threads`` is more; workers must see the folder under the
        same path. After an interruption finished blocks stay, and the next ``run`` makes the others.
        """
        folder = self._folder
        check_device(device, self._definition.content["run"].get("precision", "double"))
        thread_count(threads)
        try:
            folder.root.mkdir(parents=True, exist_ok=True)
            with StudyLock(folder.root) as lock:
                self._begin()
                try:
                    self._run(lock, on, progress, threads, device)
                except BaseException as error:
                    folder.note(f"stopped: {_why(error)}")
                    raise
        except OSError as error:
            raise ArmillaryError(
                f"study '{folder.root}': {reason(error)}; finished blocks are kept: run it again to go on"
            ) from error
        return self

    def _begin(self) -> None:
        """Write the files that every study has, after another check under the lock."""
        folder, definition = self._folder, self._definition
        for module in ("zarr", "pyarrow.parquet"):
            require(module, extra="study", purpose="Studies")
        if (version := definition.content["armillary"]) != VERSION:
            raise ArmillaryError(
                f"study '{self.path}' was made by Armillary {version}, and this is {VERSION}: "
                "continue with that version"
            )
        there = definition_for_writing(folder)
        if there is not None:
            check_same(there, definition, folder)
        if self._signals:
            keep_signals(folder, self._signals)
        self._definition = definition = self._with_text(definition if there is None else there)
        if definition != there:
            definition.write(folder)
        if self._design is not None and not folder.design.is_file():
            write_design(folder, self._design)
        folder.make_ready()
        describe_store(folder, definition.layout, definition.about)

    def _with_text(self, definition: Definition) -> Definition:
        """Return the definition with the checksum of the model's text; write the text if it is missing."""
        folder, known = self._folder, definition.content["model"].get("text")
        if self._model is None or (known and text_checksum(folder) == known):
            return definition
        self._no_text = save_model(compiled_model(self._model), folder)
        return definition.with_text("" if self._no_text else text_checksum(folder))

    def _run(self, lock: StudyLock, on: object, progress: Given, threads: int | None, device: str) -> None:
        folder, definition = self._folder, self._definition
        layout = definition.layout
        found = finished_blocks(folder, layout, definition.digest)
        missing = [number for number in range(layout.blocks) if number not in found.records]
        folder.note(
            f"run by process {os.getpid()} on {socket.gethostname()}: {len(found.records)} of "
            f"{layout.blocks} blocks are there, {found.compared} compared with their checksums"
            + (f"; damaged: {', '.join(map(str, found.damaged))}" if found.damaged else "")
        )
        if missing:
            check_disk(folder, layout, len(missing) / layout.blocks)
        for number in found.damaged:
            folder.record(number).unlink(missing_ok=True)  # else a worker would take the block for finished
        count = Progress(layout, found.records.values())
        with reporting(progress, count) as report:

            def finish_block(record: BlockRecord) -> None:
                count.add(record)
                report()

            if missing and on is None:
                blocks = BlockMaker.of(folder, definition, self._run_maker(threads, device))
                run_here(blocks, self._block_values, missing, lock, finish_block)
            elif missing:
                self._run_on(on, missing, lock, finish_block, threads, device)
        if missing or not is_consolidated(folder, definition, compare=True):
            consolidate(folder, definition)
        status = count.status
        folder.note(f"complete: {status.runs} runs, {status.failed} failed, {len(missing)} blocks made now")

    def _run_maker(self, threads: int | None, device: str) -> RunMaker:
        return ModelRuns(
            compiled_model(self.model), self._definition, inputs=self.inputs, threads=threads, device=device
        )

    def _run_on(
        self,
        on: object,
        missing: Sequence[int],
        lock: StudyLock,
        done: Callable[[BlockRecord], None],
        threads: int | None,
        device: str,
    ) -> None:
        from armillary.studies.cluster import BlockAssignment, Job, connect_client, run_there

        folder, definition = self._folder, self._definition
        if self._build is None and not folder.model.is_file():
            raise ModelError(
                f"study '{self.path}' cannot go to a cluster, whose workers build the model from its text: "
                f"{self._no_text or 'it has none'}\n  remedy: Study(…, build='package.module:function'), a "
                "function that the workers can import and that returns the System"
            )
        place = str(folder.root.resolve())
        job = Job(
            place, definition.digest, self.runs, VERSION, self._build, self._trust, threads or 1, device
        )
        layout, known = definition.layout, folder.design.is_file()
        values = None if known else lambda number: self._block_values(*layout.span(number))
        with connect_client(on) as client:
            run_there(client, BlockAssignment(job, values, missing, lock, done))

    def extend(self, runs: int) -> Study:
        """Return the study with more runs. Its design must be random, sobol, morris or saltelli, whose first
        runs do not depend on the number of runs. ``run`` then makes the new runs; a last block that was not
        full is made again.
        """
        folder, design = self._folder, self._require_design()
        if positive_whole(runs) is None:
            raise ArmillaryError(f"extend() needs a whole number of runs, not {runs!r}")
        if runs <= self.runs:
            raise ArmillaryError(
                f"study '{self.path}' has {self.runs} runs; extend it to more, not to {runs}"
            )
        if not design.open_ended or not design.portable:
            why = (
                f"all runs of a {design.kind} design depend on their number"
                if design.portable
                else "it contains a function"
            )
            raise ArmillaryError(f"the design of study '{self.path}' cannot be extended: {why}")
        larger = Design.from_data({**design.as_data(), "runs": runs})
        if (there := read_definition(folder)) is None:
            raise ArmillaryError(f"study '{self.path}' has not been begun: start it with {runs} runs")
        with StudyLock(folder.root):
            check_same(there, self._definition, folder)
            definition = self._definition.with_runs(larger.runs, larger.identity())
            folder.make_ready()
            forget_columns(folder, definition.layout)  # their chunks may be larger now
            describe_store(folder, definition.layout, definition.about)
            write_design(folder, larger)
            definition.write(folder)
            folder.note(f"extended from {self.runs} to {runs} runs")
        return _make_study(folder, definition, larger, self._model, self._build, self._trust)

    def _block_values(self, first: int, end: int) -> Values:
        return self._require_design().block(first, end)

    def rerun(self, run: int, **changed: object) -> Run:
        """Repeat one run of the study alone, with all outputs, at the times of the study's histories;
        ``changed`` are arguments of ``simulate``, such as ``sample`` (None: every step).
        """
        content = self._definition.content
        how = {key: value for key, value in content["run"].items() if key not in ("precision", "watch")}
        driven = {INPUTS: self.inputs} if self._definition.inputs else {}
        return self.model.simulate(**(arguments(how, content["vary"], self.values(run)) | driven | changed))


def _signals(model: CompiledModel, inputs: object, settings: RunSettings) -> dict[str, Signal]:
    """Return inputs over time as signals, the same for all runs."""
    if inputs is None or (isinstance(inputs, Mapping) and not inputs):
        return {}
    found = read_inputs(model.equations.system, inputs, settings)
    for name, signal in found.items():
        if signal.runs is not None:
            raise ParameterError(
                f"input '{name}' has data for {signal.runs} runs, but all runs of a study have the same "
                "inputs; give one row of data, and vary a parameter that scales the input"
            )
    return found


def _why(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "by Ctrl-C"
    return f"{type(error).__name__}: {error}"


def open_study(
    path: str | os.PathLike[str],
    *,
    model: Model | None = None,
    build: str | None = None,
    trust: bool = False,
) -> Study:
    """Open the study in a folder, to read its results, to repeat single runs, or to continue it.

    Reading results needs no model; otherwise the model is built from its text in the folder, unless ``model``
    or ``build`` ("package.module:function") provides it. ``trust`` allows the text to load FMUs: machine
    code.
    """
    folder = Folder.at(path)
    definition = read_definition(folder)
    if definition is None:
        raise ArmillaryError(f"there is no study in '{folder.root}'")
    study = _make_study(folder, definition, read_design(folder, definition.runs), model, build, trust)
    if model is not None:
        check_same(
            definition,
            replace(
                definition,
                content={**definition.content, "model": plain_data(identity(compiled_model(model)))},
            ),
            folder,
        )
    return study


def _make_study(
    folder: Folder,
    definition: Definition,
    design: Design | None,
    model: Model | None,
    build: str | None,
    trust: bool,
) -> Study:
    study = Study.__new__(Study)
    study._set(folder, definition, design, model, build, trust=trust)
    return study
