"""The folder of a study, its files, which are written atomically, and its lock.

One process at a time runs a study: a lock file has the owner's process and heartbeat.

The file ``lock`` is created exclusively, so that only one of two processes gets it, also on network disks,
where locks of the operating system may not hold. Its owner touches it every few seconds. It is stale, and
taken over, when its process on this machine has ended, or when it was not touched for a minute. Ages are
measured by the clock of the disk, since the clocks of machines differ.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
import threading
import time
import warnings
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from types import TracebackType

import numpy as np

from armillary.algebra.arguments import file_path
from armillary.errors import ArmillaryError, outside
from armillary.limited_files import reason, write_file
from armillary.results.record import distinct_labels
from armillary.untyped import DataMapping, DataTable, Given

Bytes = bytes | memoryview

UNFINISHED = ".unfinished"  # the folder of files that are being written


class _FolderEntry:
    """A descriptor: the path of a file or folder below the root, from its name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, folder: Folder, owner: type[Folder]) -> Path:
        return folder.root / self.name


@dataclass(frozen=True)
class Folder:
    """The paths in a study's folder.

    study.json       the definition of the study: model, runs, design, metrics
    design.json      the design: any worker computes the values of a run from it
    model.toml       the model, if it has a text form
    inputs.npz       the data of inputs over time, if there are any
    results.zarr     histories and histograms, one chunk per block; at the end all numbers too
    blocks/          a record of every finished block: its numbers, and checksums of its chunks
    metrics.parquet  the numbers of all runs, when all are made
    complete.json    checksums of metrics.parquet, and of the columns in the store
    log.txt          actions with their times
    lock             exists while a process runs the study
    """

    root: Path

    study = _FolderEntry("study.json")
    design = _FolderEntry("design.json")
    model = _FolderEntry("model.toml")
    inputs = _FolderEntry("inputs.npz")
    store = _FolderEntry("results.zarr")
    blocks = _FolderEntry("blocks")
    table = _FolderEntry("metrics.parquet")
    complete = _FolderEntry("complete.json")
    log = _FolderEntry("log.txt")

    @classmethod
    def at(cls, path: str | os.PathLike[str]) -> Folder:
        """Return the folder at a path that a user gave."""
        return cls(file_path(path, "the folder of a study"))

    @property
    def unfinished(self) -> Path:
        """The folder of files that are being written; remains of a killed process are ignored."""
        return self.root / UNFINISHED

    def record(self, number: int) -> Path:
        """Return the path of a block's record."""
        return self.blocks / f"{number:08d}"

    def make_ready(self) -> None:
        """Make the folders that blocks are written to; delete unfinished files of a killed process."""
        shutil.rmtree(self.unfinished, ignore_errors=True)
        for left in self.root.glob(".armillary-*.tmp"):
            with suppress(OSError):
                left.unlink()
        self.unfinished.mkdir(exist_ok=True)
        self.blocks.mkdir(exist_ok=True)

    def place(self, target: Path, pieces: Iterable[Bytes]) -> int:
        """Write a file of a block atomically; return the time of its last change, in ns.

        The file is not synchronised to the disk, since that takes 0.4 ms at best: after a power failure,
        checksums show files that are not complete.
        """
        temporary = self.unfinished / os.urandom(8).hex()
        try:
            with temporary.open("wb", buffering=0) as file:
                for piece in pieces:
                    _write_all(file, piece)
            changed = temporary.stat().st_mtime_ns
            os.replace(temporary, target)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
        return changed

    def note(self, line: str) -> None:
        """Write a line into the log, if the log can be written."""
        stamp = time.strftime("%Y-%m-%d %H:%M:%S")
        with suppress(OSError), self.log.open("a", encoding="utf-8") as file:
            file.write(f"{stamp}  {line}\n")


def _write_all(file: FileIO, piece: Bytes) -> None:
    """Write all bytes; a single call of the system may write only a part."""
    rest = memoryview(piece).cast("B")
    while rest:
        rest = rest[file.write(rest) :]


def write_json(path: Path, data: object) -> None:
    """Write a JSON file atomically."""
    write_file(path, json.dumps(data, indent=2, ensure_ascii=False) + "\n")


# The layout of a study's results: numbers, a column each; histories and histograms, an array each.

VARIED, METRIC, STATUS, STOP = "varied", "metric", "status", "t_stop"
RUN = "run"  # the dimension of runs, and the column of their numbers


@dataclass(frozen=True)
class StoredColumn:
    """One number of every run: a varied value, a metric, or how and when the run ended."""

    name: str
    label: str  # name in the store, which does not allow all names, and each name only once
    kind: str
    units: str = ""
    about: str = ""


@dataclass(frozen=True)
class Array:
    """Several numbers of every run: the history of an output, or a metric's histogram."""

    name: str
    label: str
    along: str  # the second dimension: "time", or the bins of a histogram
    size: int
    units: str = ""
    about: str = ""
    edges: tuple[float, ...] = ()  # of bins
    edge_units: str = ""

    def chunk_bytes(self, block: int) -> int:
        return 8 * block * self.size


@dataclass(frozen=True)
class StoreLayout:
    """Columns and arrays, and the runs in blocks: block b has the runs b·block … (b+1)·block − 1."""

    columns: tuple[StoredColumn, ...]
    arrays: tuple[Array, ...]
    runs: int
    block: int
    times: np.ndarray = field(compare=False)  # of histories

    @property
    def blocks(self) -> int:
        return -(-self.runs // self.block)

    def span(self, number: int) -> tuple[int, int]:
        """Return the number of the first run of a block, and of the first run after the block."""
        return number * self.block, min((number + 1) * self.block, self.runs)

    @property
    def bytes(self) -> int:
        """Bytes on the disk before compression: histories, and numbers in records, store and table."""
        return 8 * self.runs * (3 * len(self.columns) + sum(array.size for array in self.arrays))

    @property
    def files(self) -> int:
        """Number of files on the disk, except a few: a record and the chunks of each block."""
        return self.blocks * (1 + len(self.arrays))

    def names(self, kind: str) -> tuple[str, ...]:
        """Return the names of the columns of a kind, in order."""
        return tuple(column.name for column in self.columns if column.kind == kind)

    @property
    def table_names(self) -> list[str]:
        """Names of the columns in a table: their own names, numbered if a name is taken."""
        return distinct_labels([column.name for column in self.columns], taken=(RUN,))

    def as_data(self) -> DataTable:
        """Return everything except runs and block, in a form that JSON stores."""
        columns = [vars(column).copy() for column in self.columns]
        arrays = [{**vars(a), "edges": list(a.edges)} for a in self.arrays]
        return {"columns": columns, "arrays": arrays, "times": _times_as_data(self.times)}

    @classmethod
    def from_data(cls, data: DataMapping, runs: int, block: int) -> StoreLayout:
        columns = tuple(StoredColumn(**entry) for entry in data["columns"])
        arrays = tuple(Array(**{**entry, "edges": tuple(entry["edges"])}) for entry in data["arrays"])
        return cls(columns, arrays, runs, block, _times_from_data(data["times"]))


def _times_as_data(times: np.ndarray) -> Given:
    """Return times for JSON: {"even": [first, interval, last, count]} if that is exact, else a list."""
    if len(times) > 2:
        even = {"even": [float(times[0]), float(times[1] - times[0]), float(times[-1]), len(times)]}
        if np.array_equal(_times_from_data(even), times):
            return even
    return times.tolist()


def _times_from_data(data: object) -> np.ndarray:
    if not isinstance(data, Mapping):
        return np.array(data, dtype=float)
    first, interval, last, count = data["even"]
    times: np.ndarray = first + np.arange(count) * interval
    times[-1] = last
    return times


@dataclass(frozen=True, eq=False)
class Made:
    """The results of a block of runs; its run i has ``columns[:, i]`` and, in each array, row i."""

    columns: np.ndarray
    arrays: tuple[np.ndarray, ...]
    failed: tuple[tuple[int, str], ...] = ()  # numbers of failed runs, with reasons


# The disk space that a study will take, checked before it starts.

_MANY_FILES = 2_000_000
_UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB", "EB")


def check_disk(folder: Folder, layout: StoreLayout, share: float) -> None:
    """Log the disk space and number of files that a share (0 to 1) of a study's blocks will take. Warn if
    they exceed what the disk has free, or if there are more files than most disks handle well.
    """
    size, files = share * layout.bytes, share * layout.files
    free, free_files = _free_space(folder)
    much = f"{in_bytes(size)} (before compression) in {files:,.0f} files"
    warning = f"study '{folder.root}' will write up to {much}"
    folder.note(f"up to {much} are to be written")
    if size > free:
        _warn(f"{warning}, and its disk has {in_bytes(free)} free: keep fewer outputs, or samples, or runs")
    if files > min(free_files, _MANY_FILES):
        _warn(f"{warning}: give a larger block=, now {layout.block} runs, or keep fewer outputs")


def _free_space(folder: Folder) -> tuple[float, float]:
    """Return the free bytes and files of a folder's disk; infinity if unknown."""
    try:
        space = float(shutil.disk_usage(folder.root).free)
    except OSError:
        space = float("inf")
    try:
        files = float(os.statvfs(folder.root).f_favail) or float("inf")  # some disks have no such limit
    except (OSError, AttributeError):
        files = float("inf")
    return space, files


def in_bytes(number: float) -> str:
    """Return a number of bytes with three digits and a unit."""
    place = 0
    while number >= 999.5 and place < len(_UNITS) - 1:
        number, place = number / 1000, place + 1  # 999.5 and more would be rounded to 1e+03
    return f"{number:.3g} {_UNITS[place]}"


def _warn(text: str) -> None:
    warnings.warn(text, stacklevel=outside())


NAME = "lock"
BEAT = 5.0  # seconds between two touches
STALE = 60.0  # seconds without a touch after which a lock is stale


class StudyLock:
    """The exclusive right to write into a study, within a ``with`` block.

    If the owner was stopped for long (such as by a sleeping computer), another process may have taken over;
    ``check`` then raises an error, before anything more is written.
    """

    def __init__(self, folder: Path, *, beat: float = BEAT, stale: float = STALE) -> None:
        self.path = folder / NAME
        self._beat, self._stale = beat, stale
        self._token = os.urandom(8).hex()
        self._ended = threading.Event()
        self._lost = False
        self._thread: threading.Thread | None = None

    def __enter__(self) -> StudyLock:
        for _ in range(20):
            if self._create_file():
                self._thread = threading.Thread(target=self._keep_touching, daemon=True)
                self._thread.start()
                return self
            found = _read_lock(self.path)
            if found is None:
                continue  # released just now
            if not _is_stale(self.path, found, self._stale):
                raise ArmillaryError(
                    f"study '{self.path.parent}' is being run by {_description(found)}: wait for it, or end "
                    f"it; {self._if_dead(found)}open_study reads a study that runs"
                )
            self._remove(found)
        raise ArmillaryError(
            f"study '{self.path.parent}': its lock '{self.path}' is taken over by other processes repeatedly"
        )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        found = _read_lock(self.path)
        if found is not None and found.get("token") == self._token:
            with suppress(OSError):
                self.path.unlink()

    def check(self) -> None:
        """Raise an error if another process has taken over."""
        if self._lost:
            raise ArmillaryError(
                f"study '{self.path.parent}' was taken over by another process, because this one did not "
                "renew its lock for long; its finished blocks are kept"
            )

    def _create_file(self) -> bool:
        about = {
            "token": self._token,
            "host": socket.gethostname(),
            "processes": _processes(),
            "pid": os.getpid(),
            "since": time.strftime("%Y-%m-%d %H:%M:%S"),
        }
        try:
            with self.path.open("x", encoding="utf-8") as file:
                try:
                    json.dump(about, file)
                except OSError:
                    self.path.unlink(missing_ok=True)
                    raise
        except FileExistsError:
            return False
        except OSError as error:
            raise ArmillaryError(
                f"cannot write into the study '{self.path.parent}': {reason(error)}"
            ) from error
        return True

    def _if_dead(self, found: DataTable) -> str:
        """Return the sentence about when the lock of an owner on another machine becomes stale; "" for an
        owner here, whose process can be checked.
        """
        if _is_here(found) or (age := _age(self.path)) is None:
            return ""
        wait = max(1, round(self._stale - max(age, 0.0)))
        return (
            f"if it was killed, run this again in {wait} s: a process that does not renew its lock for "
            f"{self._stale:g} s counts as dead; "
        )

    def _remove(self, found: DataTable) -> None:
        """Move a stale lock away. If another process has replaced it by its own lock in the meantime, put
        that lock back.
        """
        aside = self.path.with_name(f".{NAME}-{self._token}")
        try:
            os.rename(self.path, aside)
        except OSError:
            return
        moved = _read_lock(aside)
        if moved is not None and moved.get("token") != found.get("token"):
            try:
                os.link(aside, self.path)
            except FileExistsError:
                pass  # a third process has a lock already
            except OSError:  # a disk without hard links
                os.replace(aside, self.path)
                return
        with suppress(OSError):
            aside.unlink()

    def _keep_touching(self) -> None:
        while not self._ended.wait(self._beat):
            found = _read_lock(self.path)
            if found is None and not self._ended.wait(self._beat):  # moved aside for a moment: see _remove
                found = _read_lock(self.path)
            if self._ended.is_set():
                return
            if found is None or found.get("token", self._token) != self._token:
                self._lost = True
                return
            with suppress(OSError):
                os.utime(self.path)


def owner(folder: Path) -> str:
    """Return the process that runs the study in a folder, and since when; "" if none does."""
    path = folder / NAME
    found = _read_lock(path)
    return "" if found is None or _is_stale(path, found, STALE) else _description(found)


def _description(found: DataTable) -> str:
    return (
        f"process {found.get('pid', '?')} on {found.get('host', 'some machine')}, since "
        f"{found.get('since', 'just now')}"
    )


def _is_here(found: DataTable) -> bool:
    """Return whether an owner runs on this machine, in the same namespace of processes."""
    return found.get("host") == socket.gethostname() and found.get("processes") == _processes()


def _is_stale(path: Path, found: DataTable, stale: float) -> bool:
    if _is_here(found) and not _alive(found.get("pid")):
        return True
    age = _age(path)
    return age is not None and abs(age) > stale  # negative if a clock was set back since


def _age(path: Path) -> float | None:
    """Return the seconds since a lock was touched; `None` if it has just been released."""
    try:
        return _disk_time(path.parent) - path.stat().st_mtime
    except OSError:
        return None


def _read_lock(path: Path) -> DataTable | None:
    """Return the content of a lock, {} while it is being written; `None` if there is no lock."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _processes() -> str:
    """Return the namespace of this process: in another container, the same number is another process."""
    with suppress(OSError):
        return os.readlink("/proc/self/ns/pid")
    return ""


def _alive(pid: object) -> bool:
    if not isinstance(pid, int) or sys.platform == "win32":  # on Windows, a signal 0 ends the process
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _disk_time(folder: Path) -> float:
    """Return the present time by the clock that dates the files of a folder."""
    probe = folder / f".now-{os.urandom(6).hex()}"
    try:
        probe.touch(exist_ok=False)
        return probe.stat().st_mtime
    except OSError:  # a reader may not be allowed to write
        return time.time()
    finally:
        with suppress(OSError):
            probe.unlink()
