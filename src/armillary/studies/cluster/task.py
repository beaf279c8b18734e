"""The worker's side of a study on a cluster: a task, and the model that a worker prepares once."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from armillary.errors import ArmillaryError
from armillary.studies.blocks import BlockMaker, Values
from armillary.studies.definition.definition import read_definition, read_design
from armillary.studies.definition.identity import rebuild_model
from armillary.studies.runs import ModelRuns
from armillary.studies.store.folder import Folder
from armillary.studies.store.input_data import read_signals
from armillary.studies.store.records import BlockRecord, read_record

if TYPE_CHECKING:
    from armillary.studies.sampling import Design

_KEPT = 4  # studies whose models a worker keeps


class UnfitWorkerError(ArmillaryError):
    """A worker that cannot prepare a study, though others may: its address, and why in the next line."""


@dataclass(frozen=True)
class Job:
    """The data of a study for a worker: its place, and how its model is built."""

    folder: str
    digest: str
    runs: int
    version: str
    build: str | None
    trust: bool
    threads: int
    device: str


@dataclass(frozen=True, eq=False)
class _Prepared:
    blocks: BlockMaker
    design: Design | None


_prepared: dict[Job, _Prepared] = {}
_preparing = threading.Lock()


def run_blocks(
    job: Job, numbers: Sequence[int], values: Sequence[Values] | None = None
) -> tuple[list[BlockRecord], float]:
    """A task: blocks made and written by this worker, unless another has done so meanwhile; and the seconds
    that took, without those for the model.
    """
    with _preparing:
        if job not in _prepared:
            made = _prepare(job)
            while len(_prepared) >= _KEPT:
                _prepared.pop(next(iter(_prepared)))
            _prepared[job] = made
        prepared = _prepared[job]
    started = time.perf_counter()
    given = [None] * len(numbers) if values is None else values
    records = [_one(prepared, job, *each) for each in zip(numbers, given, strict=True)]
    return records, time.perf_counter() - started


def _one(prepared: _Prepared, job: Job, number: int, values: Values | None) -> BlockRecord:
    blocks, design = prepared.blocks, prepared.design
    if (found := read_record(blocks.folder, blocks.layout, job.digest, number)) is not None:
        return found[0]
    if values is None:
        assert design is not None
        values = design.block(*blocks.layout.span(number))
    return blocks.make(number, values)


def _prepare(job: Job) -> _Prepared:
    folder = Folder(Path(job.folder))
    try:
        definition = read_definition(folder)
        if definition is None:
            raise ArmillaryError(f"there is no study in '{job.folder}'")
        if definition.digest != job.digest:
            raise ArmillaryError(
                f"'{job.folder}' holds another study: is that path the same disk everywhere?"
            )
        model = rebuild_model(folder, definition.content["model"], build=job.build, trust=job.trust)
        inputs = read_signals(folder, definition.inputs)
    except ArmillaryError as error:
        from distributed import get_worker

        raise UnfitWorkerError(f"{get_worker().address}\n{error}") from error
    runs = ModelRuns(model, definition, inputs=inputs, threads=job.threads, device=job.device)
    return _Prepared(BlockMaker.of(folder, definition, runs), read_design(folder, job.runs))
