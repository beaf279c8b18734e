"""The blocks of a study as tasks of a Dask cluster.

A task is a folder and the numbers of some blocks. Each worker process reads the study from the shared folder
once, builds and compiles its model once, finds the values of its blocks from the design, and writes chunks
and records itself, block by block: only the records come back. A few tasks per thread are on their way at a
time, so that the scheduler holds no more than those, however many blocks there are. A task costs the
scheduler and the client some milliseconds, as much as a short block: as many of those go into one as take
about half a second.
"""

from __future__ import annotations

import socket
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from armillary.ensembles.study.definition import read_definition
from armillary.ensembles.study.design_file import read_design
from armillary.ensembles.study.files import Folder
from armillary.ensembles.study.identity import rebuilt
from armillary.ensembles.study.lock import StudyLock
from armillary.ensembles.study.records import Record, read_record
from armillary.ensembles.study.runs import ModelRuns
from armillary.ensembles.study.work import Values, Work
from armillary.errors import ArmillaryError, outside, require
from armillary.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from armillary.ensembles.sampling import Design

_EACH = 2  # tasks on their way per thread: one that runs, and one that waits for it
_TASK = 0.5  # seconds that a task of several blocks should take
_KEPT = 4  # studies whose models a worker keeps
_CONNECT = 20.0  # seconds to find a scheduler
_ASKED = 5.0  # seconds between two looks at how many workers there are


@dataclass(frozen=True)
class Job:
    """What a worker needs to know of a study: where it is, and how its model is built."""

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
    work: Work
    design: Design | None


_prepared: dict[Job, _Prepared] = {}
_preparing = threading.Lock()


def run_blocks(
    job: Job, numbers: Sequence[int], values: Sequence[Values] | None = None
) -> tuple[list[Record], float]:
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


def _one(prepared: _Prepared, job: Job, number: int, values: Values | None) -> Record:
    work, design = prepared.work, prepared.design
    if (found := read_record(work.folder, work.layout, job.digest, number)) is not None:
        return found[0]
    if values is None:
        assert design is not None
        values = design.block(*work.layout.span(number))
    return work.do(number, values)


def _prepare(job: Job) -> _Prepared:
    here = f"worker on {socket.gethostname()}"
    if job.version != VERSION:
        raise ArmillaryError(
            f"{here} has Armillary {VERSION}, and the study is run with {job.version}: install that"
        )
    folder = Folder(Path(job.folder))
    definition = read_definition(folder)
    if definition is None:
        raise ArmillaryError(
            f"{here} sees no study in '{job.folder}': the folder must be on a disk that all workers share, "
            "under the same path"
        )
    if definition.digest != job.digest:
        raise ArmillaryError(
            f"{here} sees another study in '{job.folder}': is that path the same disk everywhere?"
        )
    model = rebuilt(folder, definition.content["model"], build=job.build, trust=job.trust)
    runs = ModelRuns(model, definition, threads=job.threads, device=job.device)
    return _Prepared(Work.of(folder, definition, runs), read_design(folder, job.runs))


def run_there(
    client: Any,
    job: Job,
    values: Callable[[int], Values] | None,
    blocks: Iterable[int],
    lock: StudyLock,
    done: Callable[[Record], None],
) -> None:
    """The given blocks made by the workers of a client; ``values`` where they cannot find them themselves."""
    distributed = require("distributed", extra="cluster", purpose="Clusters")
    waiting = deque(blocks)
    if not client.ncores():
        address = client.scheduler.address if client.scheduler else "its address"
        warnings.warn(
            f"the scheduler has no workers yet; the study waits for them: dask worker {address}",
            stacklevel=outside(),
        )
    running = distributed.as_completed()
    room, asked, size = 0, -_ASKED, 1
    on_their_way: set[Any] = set()
    try:
        while True:
            lock.check()
            if time.monotonic() - asked > _ASKED:
                room, asked = _room(client), time.monotonic()
            while waiting and len(on_their_way) < room:
                share = max(len(waiting) // room, 1)  # the last ones are spread over all workers
                numbers = [waiting.popleft() for _ in range(min(size, share))]
                given = None if values is None else [values(number) for number in numbers]
                future = client.submit(run_blocks, job, numbers, given, pure=False, key=_key(job, numbers))
                on_their_way.add(future)
                running.add(future)
            if not on_their_way:
                return
            future = next(running)
            on_their_way.discard(future)
            records, seconds = _result(future, job)
            size = _fitting(size, len(records), seconds)
            for record in records:
                done(record)
    finally:
        if on_their_way:
            client.cancel(list(on_their_way))


def _fitting(size: int, made: int, seconds: float) -> int:
    """Blocks for the next tasks, where so many took so long: no more than twice those of the last."""
    return max(1, min(2 * size, int(_TASK * made / max(seconds, 1e-9))))


def _room(client: Any) -> int:
    """How many tasks may be on their way; a few even while workers are still to come."""
    return max(_EACH * sum(client.ncores().values()), 2 * _EACH)


def _key(job: Job, numbers: Sequence[int]) -> str:
    return f"armillary-blocks-{numbers[0]}-{numbers[-1]}-{job.digest[:8]}-{time.time_ns():x}"


def _result(future: Any, job: Job) -> tuple[list[Record], float]:
    if future.status == "error":
        error = future.exception()
        if isinstance(error, ArmillaryError):
            raise error
        raise ArmillaryError(
            f"study '{job.folder}' stopped on the cluster: {type(error).__name__}: {error}; finished blocks "
            "are kept: run it again to go on"
        ) from error
    if future.status != "finished":
        raise ArmillaryError(
            f"study '{job.folder}': the cluster gave up a task ({future.status}); finished blocks are kept: "
            "run it again to go on"
        )
    made: tuple[list[Record], float] = future.result()
    future.release()
    return made


@contextmanager
def connected(on: Any) -> Iterator[Any]:
    """The client that a user gave, or one to the scheduler at an address, closed at the end."""
    distributed = require("distributed", extra="cluster", purpose="Clusters")
    if not isinstance(on, str):
        if not isinstance(on, distributed.Client):
            raise ArmillaryError(f"on= must be a Dask client or the address of a scheduler, not {on!r}")
        yield on
        return
    try:
        client = distributed.Client(on, timeout=_CONNECT)
    except (OSError, ValueError) as error:
        port = "; give its port too, such as tcp://node1:8786" if "port" in str(error) else ""
        raise ArmillaryError(f"there is no Dask scheduler at '{on}': {error}{port}") from error
    try:
        yield client
    finally:
        client.close()
