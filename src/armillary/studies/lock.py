"""One process at a time on a study: a lock file with the owner's process and heartbeat.

The file ``lock`` is made only where none is, so that one of two processes gets it, on network disks too,
where locks of the operating system may not hold. Its owner touches it every few seconds. It is stale, and
taken over, when its process is gone from this very machine, or when it was not touched for a minute. Ages are
taken by the clock of the disk: machines disagree about the time.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from armillary.atomic import reason
from armillary.errors import ArmillaryError
from armillary.untyped import DataTable

NAME = "lock"
BEAT = 5.0  # seconds between two touches
STALE = 60.0  # seconds without a touch after which an owner is taken for dead


class StudyLock:
    """The right to write into a study, from ``with`` to its end.

    An owner that was stopped for long (a computer put to sleep) may find that another has taken over;
    ``check`` then raises, before anything more is written.
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
                continue  # given back just now
            if not _is_stale(self.path, found, self._stale):
                raise ArmillaryError(
                    f"study '{self.path.parent}' is being run by {_description(found)}: wait for it, or end "
                    f"it; {self._if_dead(found)}open_study reads a study that runs"
                )
            self._remove(found)
        raise ArmillaryError(
            f"study '{self.path.parent}': other processes take over its lock '{self.path}' again and again"
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
        """An error where another process has taken over."""
        if self._lost:
            raise ArmillaryError(
                f"study '{self.path.parent}' was taken over by another process, because this one did not "
                "renew its lock for long; its finished blocks count"
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
            number = os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
        except FileExistsError:
            return False
        except OSError as error:
            raise ArmillaryError(
                f"cannot write into the study '{self.path.parent}': {reason(error)}"
            ) from error
        try:
            with os.fdopen(number, "w", encoding="utf-8") as file:
                json.dump(about, file)
        except OSError as error:
            with suppress(OSError):
                self.path.unlink()
            raise ArmillaryError(
                f"cannot write into the study '{self.path.parent}': {reason(error)}"
            ) from error
        return True

    def _if_dead(self, found: DataTable) -> str:
        """When a study can be taken over from a process that cannot be looked for: on another machine."""
        if _is_here(found) or (age := _age(self.path)) is None:
            return ""
        wait = max(1, round(self._stale - max(age, 0.0)))
        return (
            f"if it was killed, run this again in {wait} s: a process that does not renew its lock for "
            f"{self._stale:g} s is taken for dead; "
        )

    def _remove(self, found: DataTable) -> None:
        """A stale lock moved away. Another may have done so before and made his own: that one is put back."""
        aside = self.path.with_name(f".{NAME}-{self._token}")
        try:
            os.rename(self.path, aside)
        except OSError:
            return
        moved = _read_lock(aside)
        if moved is not None and moved.get("token") != found.get("token"):
            with suppress(OSError):
                os.link(aside, self.path)
        with suppress(OSError):
            aside.unlink()

    def _keep_touching(self) -> None:
        while not self._ended.wait(self._beat):
            found = _read_lock(self.path)
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
    """Whether an owner is a process that this one could see."""
    return found.get("host") == socket.gethostname() and found.get("processes") == _processes()


def _is_stale(path: Path, found: DataTable, stale: float) -> bool:
    if _is_here(found) and not _alive(found.get("pid")):
        return True
    age = _age(path)
    return age is not None and abs(age) > stale  # negative where a clock was set back since


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
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _processes() -> str:
    """The namespace of this process: the same number means another process in another container."""
    with suppress(OSError):
        return os.readlink("/proc/self/ns/pid")
    return ""


def _alive(pid: object) -> bool:
    if not isinstance(pid, int) or sys.platform == "win32":  # there, a signal 0 ends the process
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _disk_time(folder: Path) -> float:
    """The time now, by the clock that dates the files of a folder."""
    probe = folder / f".now-{os.urandom(6).hex()}"
    try:
        probe.touch(exist_ok=False)
        return probe.stat().st_mtime
    except OSError:  # who only reads may not write
        return time.time()
    finally:
        with suppress(OSError):
            probe.unlink()
