"""The blocks of a study as tasks of a Dask cluster.

A task is a folder and the numbers of some blocks. Each worker process reads the study from the shared folder
once, builds and compiles its model once, computes the values of its blocks from the design, and writes chunks
and records itself, block by block: it returns only the records. Only a few tasks per thread are sent at a
time, so that the load of the scheduler does not depend on the number of blocks. A task costs the scheduler
and the client some milliseconds, as much as a short block; so a task has enough blocks for about half a
second.

Every worker is checked before it gets work, also if it joins later. An unfit worker is left out, with a
warning. Blocks whose worker died, or which a restarted scheduler forgot, are sent again.
"""

from __future__ import annotations

import queue
import threading
import time
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from armillary.errors import ArmillaryError, outside, require
from armillary.runtime.models.compiled import compiled_model
from armillary.studies import worker_check
from armillary.studies.definition import read_definition, read_design, rebuild_model
from armillary.studies.folder import UNFINISHED, Folder, StudyLock
from armillary.studies.records import BlockRecord, read_record, read_signals
from armillary.studies.runs import BlockMaker, ModelRuns, Values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distributed import Client, Future

    from armillary.studies.sampling import Design


# The worker's side of a study on a cluster: a task, and the model that a worker prepares once.

_KEPT_STUDIES = 4  # studies whose models a worker keeps


class UnfitWorkerError(ArmillaryError):
    """The error of a worker that cannot prepare a study, although other workers may be able to.

    The first line of its message is the worker's address, the rest is the reason.
    """


@dataclass(frozen=True)
class Job:
    """The data of a study for a worker: its folder, and how its model is built."""

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
    """Make and write blocks on this worker, except blocks that another worker has made meanwhile. Return the
    records, and the seconds that the blocks took, without those for the model.
    """
    with _preparing:
        if job not in _prepared:
            made = _prepare(job)
            while len(_prepared) >= _KEPT_STUDIES:
                _prepared.pop(next(iter(_prepared)))
            _prepared[job] = made
        prepared = _prepared[job]
    started = time.perf_counter()
    given = [None] * len(numbers) if values is None else values
    records = [_make_block(prepared, job, *each) for each in zip(numbers, given, strict=True)]
    return records, time.perf_counter() - started


def _make_block(prepared: _Prepared, job: Job, number: int, values: Values | None) -> BlockRecord:
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
    core = compiled_model(model)
    runs = ModelRuns(core, definition, inputs=inputs, threads=job.threads, device=job.device)
    return _Prepared(BlockMaker.of(folder, definition, runs), read_design(folder, job.runs))


# The workers of a cluster that can take part in a study, as they come and go.


class Workers:
    """The fit workers, each with its number of threads, and the reasons why others are not fit."""

    pause = 2.0  # seconds between two checks of the scheduler's workers

    def __init__(self, client: Client, job: Job) -> None:
        self._client, self._job = client, job
        self.fit: dict[str, int] = {}
        self._unfit: dict[str, str] = {}
        self._looked = -self.pause
        self._warned = False  # whether the warning was given that there are no workers

    def look(self) -> None:
        """Update the workers that can take part. Check new workers, and warn of each unfit one; warn if the
        scheduler has no workers; raise an error if it has workers and all are unfit.
        """
        if time.monotonic() - self._looked < self.pause and self.fit:
            return
        there = dict(self._client.ncores())
        new = [address for address in there if address not in self.fit and address not in self._unfit]
        checked = self._check_workers(new)
        for address, why in checked.items():
            if why:
                self._unfit[address] = why
                self._warn(f"{why}; the study goes on without it")
        known = self.fit.keys() | checked.keys()  # a worker that did not answer is checked again next time
        self.fit = {a: cores for a, cores in there.items() if a in known and a not in self._unfit}
        self._looked = time.monotonic()
        if there and all(address in self._unfit for address in there):
            reasons = dict.fromkeys(self._unfit[address] for address in there)
            raise ArmillaryError(
                f"study '{self._job.folder}': no worker of the cluster can take part\n  "
                + "\n  ".join(reasons)
            )
        if not there and not self._warned:
            address = self._client.scheduler.address if self._client.scheduler else "its address"
            self._warn(f"the scheduler has no workers; the study waits for them: dask worker {address}")
        self._warned = not there

    def leave_out(self, error: Exception) -> None:
        """Give no more tasks to a worker that raised an error."""
        host, _, reason = str(error).partition("\n")
        self._unfit[host] = f"the worker at {host} cannot take part: {reason}"
        self.fit.pop(host, None)
        self._looked = -self.pause
        self._warn(f"{self._unfit[host]}; the study goes on without it")

    def _check_workers(self, addresses: list[str]) -> dict[str, str]:
        """Return the reason why each worker cannot take part, "" if it can; leave out workers that have just
        died.
        """
        if not addresses:
            return {}
        import cloudpickle  # a requirement of distributed

        cloudpickle.register_pickle_by_value(worker_check)  # the worker may have no Armillary
        try:
            found = self._client.run(
                worker_check.report, self._job.folder, UNFINISHED, workers=addresses, on_error="return"
            )
        finally:
            cloudpickle.unregister_pickle_by_value(worker_check)
        answers = {address: each for address, each in found.items() if not isinstance(each, Exception)}
        return {address: worker_check.unfit(each, self._job.version) for address, each in answers.items()}

    def _warn(self, text: str) -> None:
        warnings.warn(text, stacklevel=outside())


_EACH = 2  # tasks sent per thread: one that runs, and one that waits for it
_TASK = 0.5  # seconds that a task of several blocks should take
_CONNECT = 20.0  # seconds to find a scheduler, or to find it again after a restart
_GATHER = 10.0  # seconds to get records, some hundred bytes each, from the worker that has written them
_LOSSES = 3  # times that the cluster may lose one block; some workers have died each time
_KEPT = "finished blocks are kept: run it again to go on"


class BlockAssignment(NamedTuple):
    """Blocks for the workers of a cluster.

    ``values`` returns the values of a block, if workers cannot compute them from a design.
    """

    job: Job
    values: Callable[[int], Values] | None
    blocks: Iterable[int]
    lock: StudyLock
    done: Callable[[BlockRecord], None]


def run_there(client: Client, given: BlockAssignment) -> None:
    """Make blocks on the workers of a client."""
    _WaitingBlocks(client, given).run()


class _Task(NamedTuple):
    """Blocks that were sent, and the workers that may make them."""

    numbers: list[int]
    workers: frozenset[str]


class _WaitingBlocks:
    """The waiting blocks, the tasks that were sent, and the workers."""

    def __init__(self, client: Client, given: BlockAssignment) -> None:
        self._client = client
        self._job, self._values, blocks, self._lock, self._done = given
        self._waiting = deque(blocks)
        self._on_their_way: dict[Future, _Task] = {}
        self._ended: queue.SimpleQueue[Future] = queue.SimpleQueue()
        self._losses: Counter[int] = Counter()
        self._size = 1
        self._workers = Workers(client, self._job)

    def run(self) -> None:
        try:
            while self._waiting or self._on_their_way:
                self._lock.check()
                if self._is_connected():
                    self._workers.look()
                    self._recall()
                    self._send()
                self._receive()
        except OSError as error:  # from the connection; errors of workers come as results of tasks
            raise ArmillaryError(
                f"study '{self._job.folder}': the connection to the scheduler broke ({error}); {_KEPT}"
            ) from error
        finally:
            if self._on_their_way and self._client.status == "running":
                self._client.cancel(list(self._on_their_way))

    def _is_connected(self) -> bool:
        """Return whether the scheduler is connected; raise an error if it is gone for good.

        After a restart of the scheduler, the client looks for it for some seconds.
        """
        status = self._client.status
        if status in ("closing", "closed"):
            raise ArmillaryError(
                f"study '{self._job.folder}': the scheduler is gone, and none came back at its address; "
                f"{_KEPT}"
            )
        return bool(status == "running")

    def _send(self) -> None:
        fit = self._workers.fit
        room = max(_EACH * sum(fit.values()), 2 * _EACH) if fit else 0
        while self._waiting and len(self._on_their_way) < room:
            share = max(len(self._waiting) // room, 1)  # the last blocks are spread over all workers
            count = 1 if self._losses[self._waiting[0]] else min(self._size, share)
            numbers = [self._waiting.popleft() for _ in range(count)]
            given = None if self._values is None else [self._values(number) for number in numbers]
            key = _key(self._job, numbers)
            where = {"workers": list(fit), "pure": False, "key": key}
            future = self._client.submit(run_blocks, self._job, numbers, given, **where)
            self._on_their_way[future] = _Task(numbers, frozenset(fit))
            future.add_done_callback(self._ended.put)

    def _recall(self) -> None:
        """Take back tasks whose workers have all gone; the scheduler would keep them for these workers."""
        fit = self._workers.fit.keys()
        waiting = [f for f, task in self._on_their_way.items() if not task.workers & fit]
        for future in [f for f in waiting if f.status == "pending"]:
            task = self._on_their_way.pop(future)
            self._client.cancel([future])
            self._send_again(task.numbers, "its workers are gone")

    def _receive(self) -> None:
        """Take the records of the next finished task, if one ends before the next look at the workers."""
        try:
            future = self._ended.get(timeout=self._workers.pause)
        except queue.Empty:
            return
        task = self._on_their_way.pop(future, None)
        if task is None:
            return  # taken back before
        numbers = task.numbers
        if future.status == "finished":
            try:
                records, seconds = _result(future)
            except TimeoutError:
                self._client.cancel([future])
                self._send_again(numbers, "its worker died before it reported its result")
                return
            self._size = _fitting(self._size, len(records), seconds)
            for record in records:
                self._done(record)
        elif future.status == "error":
            self._handle_failure(future.exception(), numbers)
        else:  # "cancelled" or "lost": the scheduler was restarted
            self._send_again(numbers, f"the scheduler forgot a task ({future.status})")
        future.release()

    def _handle_failure(self, error: BaseException, numbers: list[int]) -> None:
        killed = require("distributed", extra="cluster", purpose="Clusters").scheduler.KilledWorker
        if isinstance(error, UnfitWorkerError):
            self._workers.leave_out(error)
            self._waiting.extendleft(reversed(numbers))
        elif isinstance(error, killed):
            self._send_again(numbers, "workers died while they made it")
        elif isinstance(error, ArmillaryError):
            raise error
        else:
            reason = f"{type(error).__name__}: {error}"
            raise ArmillaryError(
                f"study '{self._job.folder}' stopped on the cluster: {reason}; {_KEPT}"
            ) from error

    def _send_again(self, numbers: Sequence[int], why: str) -> None:
        """Put lost blocks back, to be sent one by one; raise an error if one was lost too often."""
        for number in reversed(numbers):
            self._losses[number] += 1
            if self._losses[number] > _LOSSES:
                raise ArmillaryError(
                    f"study '{self._job.folder}': block {number} was lost {_LOSSES + 1} times: {why}; "
                    f"{_KEPT}, or give its workers more memory"
                )
            self._waiting.appendleft(number)
        which = f"block {numbers[0]}" if len(numbers) == 1 else f"blocks {numbers[0]} to {numbers[-1]}"
        warnings.warn(f"study '{self._job.folder}' sends {which} again: {why}", stacklevel=outside())


def _result(future: Future) -> tuple[list[BlockRecord], float]:
    made: tuple[list[BlockRecord], float] = future.result(timeout=_GATHER)
    return made


def _fitting(size: int, made: int, seconds: float) -> int:
    """Return the number of blocks for tasks of `_TASK` seconds, at most twice the last ``size``; ``made``
    blocks took ``seconds``.
    """
    return max(1, min(2 * size, int(_TASK * made / max(seconds, 1e-9))))


def _key(job: Job, numbers: Sequence[int]) -> str:
    return f"armillary-blocks-{numbers[0]}-{numbers[-1]}-{job.digest[:8]}-{time.time_ns():x}"


@contextmanager
def connect_client(on: object) -> Iterator[Client]:
    """Yield the user's client, or a client of the scheduler at an address, which is closed at the end.

    It is not made the process's default: Dask keeps a default client whose connection failed, and all of the
    user's computations would then wait for it.
    """
    distributed = require("distributed", extra="cluster", purpose="Clusters")
    if not isinstance(on, str):
        if not isinstance(on, distributed.Client):
            raise ArmillaryError(f"on= must be a Dask client or the address of a scheduler, not {on!r}")
        yield on
        return
    try:
        client = distributed.Client(on, timeout=_CONNECT, set_as_default=False)
    except (OSError, ValueError) as error:
        port = "; give its port too, such as tcp://node1:8786" if "port" in str(error) else ""
        raise ArmillaryError(f"there is no Dask scheduler at '{on}': {error}{port}") from error
    try:
        yield client
    finally:
        client.close()
