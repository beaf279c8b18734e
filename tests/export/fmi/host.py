"""A small host for FMUs, by ctypes alone: it runs wherever their library does, also where FMPy has no binary.

Written from the standard (FMI 2.0.4 and 3.0.1), apart from the importer of the package. Model exchange is
integrated by SciPy's DOP853, with events located on its dense output.
"""

from __future__ import annotations

import ctypes
import platform
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from ctypes import byref, c_bool, c_char_p, c_double, c_int, c_size_t, c_uint32, c_void_p
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from scipy.integrate import DOP853

from armillary.export.fmi import PLATFORMS, folders, this_platform

FMPY_SIMULATES = platform.machine().lower() in ("x86_64", "amd64")  # where FMPy has binaries

_LOG2 = ctypes.CFUNCTYPE(None, c_void_p, c_char_p, c_int, c_char_p, c_char_p)
_LOG3 = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_char_p, c_char_p)


_BETWEEN = ctypes.CFUNCTYPE(
    None, c_void_p, c_double, c_bool, c_bool, c_bool, c_bool, ctypes.POINTER(c_bool), ctypes.POINTER(c_double)
)


class _Callbacks(ctypes.Structure):
    _fields_ = (
        ("logger", _LOG2), ("allocate", c_void_p), ("free", c_void_p), ("finished", c_void_p),
        ("environment", c_void_p),
    )  # fmt: skip


class _EventInfo(ctypes.Structure):
    _fields_ = (
        *((name, c_int) for name in ("needed", "terminate", "nominals", "moved", "scheduled")),
        ("next", c_double),
    )


def place_of_binary(version: str) -> tuple[str, str]:
    """The folder in which tools look for this machine's library, and the ending of its name."""
    here = this_platform()
    return folders(version, here)[-1], PLATFORMS[here].suffix


class FailedCall(Exception):
    """A function of the FMU that returned an error."""


class Host:
    """One instance of an FMU."""

    def __init__(
        self,
        path: Path,
        *,
        exchange: bool = False,
        signals: np.ndarray | None = None,
        events: bool = False,
        between: Callable[[float], float | None] | None = None,
    ) -> None:
        """``events``: co-simulation with an event mode. ``between`` is called after each inner step with its
        time; it may return an earlier end of the communication step.
        """
        self._signals, self._events, self._between = signals, events, between
        self._jumped = -np.inf
        self._folder = tempfile.TemporaryDirectory(prefix="host-", ignore_cleanup_errors=True)
        with zipfile.ZipFile(path) as archive:
            archive.extractall(self._folder.name)
        root = ElementTree.parse(Path(self._folder.name, "modelDescription.xml")).getroot()
        self.version = root.attrib["fmiVersion"][0]
        self.messages: list[str] = []
        self.references = {
            v.attrib["name"]: int(v.attrib["valueReference"]) for v in root.iterfind("ModelVariables/*")
        }
        structure = root.find("ModelStructure")
        assert structure is not None
        if self.version == "2":
            self.states = len(structure.findall("Derivatives/Unknown"))
            self.indicators = int(root.attrib.get("numberOfEventIndicators", 0))
        else:
            self.states = len(structure.findall("ContinuousStateDerivative"))
            self.indicators = len(structure.findall("EventIndicator"))
        part = root.find("ModelExchange" if exchange else "CoSimulation")
        assert part is not None
        folder, suffix = place_of_binary(f"{self.version}.0")
        library = Path(self._folder.name, folder, part.attrib["modelIdentifier"] + suffix)
        self._code = ctypes.CDLL(str(library))
        token = root.attrib["guid" if self.version == "2" else "instantiationToken"]
        self._one = c_void_p(self._instance(token.encode(), exchange))
        assert self._one.value, self.messages

    def _instance(self, token: bytes, exchange: bool) -> int | None:
        resources = Path(self._folder.name, "resources")
        if self.version == "2":
            libc = ctypes.CDLL("msvcrt" if sys.platform == "win32" else None)
            allocate, free = (ctypes.cast(f, c_void_p) for f in (libc.calloc, libc.free))
            log2 = _LOG2(lambda _, name, status, category, message: self._said(message))
            self._kept: Any = _Callbacks(log2, allocate, free, None, None)
            make = self._code.fmi2Instantiate
            make.restype = c_void_p
            return make(
                b"one", c_int(not exchange), token, resources.as_uri().encode(), byref(self._kept), 0, 1
            )
        self._kept = _LOG3(lambda _, status, category, message: self._said(message))
        make = getattr(self._code, f"fmi3Instantiate{'ModelExchange' if exchange else 'CoSimulation'}")
        make.restype = c_void_p
        common = [b"one", token, f"{resources}/".encode(), c_bool(False), c_bool(True)]
        if exchange:
            return make(*common, None, self._kept)
        early = c_bool(self._events or self._between is not None)
        self._update = _BETWEEN(self._told) if self._between else None
        return make(
            *common, c_bool(self._events), early, None, c_size_t(0), None, self._kept, self._update
        )  # fmt: skip

    def _told(
        self,
        _: Any,
        t: float,
        settable: bool,
        readable: bool,
        done: bool,
        early: bool,
        wanted: Any,
        until: Any,
    ) -> None:
        assert settable and readable and done and early and self._between
        end = self._between(t)
        if end is not None:
            wanted[0], until[0] = True, end

    def _said(self, message: bytes | None) -> None:
        self.messages.append((message or b"").decode("utf-8", "replace"))

    def call(self, name: str, *arguments: Any, allowed: int = 1) -> int:
        """A function of the standard by its name without the prefix; an error where its status is worse."""
        status = int(getattr(self._code, f"fmi{self.version}{name}")(self._one, *arguments))
        if status > allowed:
            raise FailedCall(f"fmi{self.version}{name}: status {status}: {self.messages[-1:]}")
        return status

    # ------------------------------------------------------------ variables and modes

    def set(self, values: Mapping[str, float]) -> None:
        places = (c_uint32 * len(values))(*(self.references[name] for name in values))
        numbers = (c_double * len(values))(*values.values())
        more = (c_size_t(len(values)),) if self.version == "3" else ()
        name = "SetReal" if self.version == "2" else "SetFloat64"
        self.call(name, places, c_size_t(len(values)), numbers, *more)

    def get(self, names: Sequence[str]) -> list[float]:
        places = (c_uint32 * len(names))(*(self.references[name] for name in names))
        numbers = (c_double * len(names))()
        more = (c_size_t(len(names)),) if self.version == "3" else ()
        name = "GetReal" if self.version == "2" else "GetFloat64"
        self.call(name, places, c_size_t(len(names)), numbers, *more)
        return list(numbers)

    def feed(self, t: float, *, jump: bool = False) -> None:
        """The inputs at a time, linear between their rows; a time that stands twice is a ``jump``."""
        if self._signals is None:
            return
        self._jumped = t if jump else self._jumped
        times = self._signals["time"]
        after = int(np.searchsorted(times, t, side="right" if t <= self._jumped else "left"))
        low, high = max(after - 1, 0), min(after, len(times) - 1)
        part = (t - times[low]) / (times[high] - times[low]) if times[high] > times[low] else 0.0
        row = {name: self._signals[name] for name in self._signals.dtype.names or () if name != "time"}
        self.set({name: (1.0 - part) * column[low] + part * column[high] for name, column in row.items()})

    def next_jump(self, t: float) -> float:
        """The first time after this one at which the inputs jump."""
        times = self._signals["time"] if self._signals is not None else np.empty(0)
        return float(min(times[1:][(times[1:] == times[:-1]) & (times[1:] > t)], default=np.inf))

    def initialize(self, start: float, values: Mapping[str, float], tolerance: float = 0.0) -> None:
        if values:
            self.set(values)
        self.feed(start, jump=True)
        if self.version == "2":
            known = int(tolerance > 0)
            self.call("SetupExperiment", known, c_double(tolerance), c_double(start), 0, c_double(0))
            self.call("EnterInitializationMode")
        else:
            self.call(
                "EnterInitializationMode", c_bool(tolerance > 0), c_double(tolerance), c_double(start),
                c_bool(False), c_double(0),
            )  # fmt: skip
        self.call("ExitInitializationMode")

    def close(self) -> None:
        release = getattr(self._code, f"fmi{self.version}FreeInstance")
        release.restype = None
        release(self._one)

    # ------------------------------------------------------------ co-simulation

    def step(self, t: float, h: float) -> bool:
        """A communication step; whether the FMU ends the simulation there."""
        if self.version == "2":
            return self.call("DoStep", c_double(t), c_double(h), 1, allowed=2) == 2
        flags = [c_bool() for _ in range(3)]
        last = c_double()
        self.call("DoStep", c_double(t), c_double(h), c_bool(True), *map(byref, flags), byref(last))
        self.event, self.reached = flags[0].value, last.value
        assert flags[2].value == (last.value < t + h and not flags[1].value)
        return flags[1].value

    def ticks(self, name: str) -> bool:
        """Whether a clock is active."""
        found = c_bool()
        self.call("GetClock", byref(c_uint32(self.references[name])), c_size_t(1), byref(found))
        return found.value

    # ------------------------------------------------------------ model exchange

    def vector(self, name: str, count: int) -> np.ndarray:
        """What a function without other arguments writes."""
        numbers = (c_double * max(count, 1))()
        self.call(name, numbers, c_size_t(count))
        return np.array(numbers[:count])

    def rates(self, t: float, x: np.ndarray) -> np.ndarray:
        self.place(t, x)
        name = "GetDerivatives" if self.version == "2" else "GetContinuousStateDerivatives"
        return self.vector(name, self.states)

    def signs(self, t: float, x: np.ndarray) -> np.ndarray:
        """Which event functions are positive."""
        self.place(t, x)
        return self.vector("GetEventIndicators", self.indicators) > 0.0

    def place(self, t: float, x: np.ndarray) -> None:
        self.call("SetTime", c_double(t))
        self.call("SetContinuousStates", (c_double * len(x))(*x), c_size_t(len(x)))
        self.feed(t)

    def discrete(self) -> _EventInfo:
        """An event iteration."""
        info = _EventInfo()
        if self.version == "2":
            self.call("NewDiscreteStates", byref(info))
            return info
        flags = [c_bool() for _ in range(5)]
        following = c_double()
        self.call("UpdateDiscreteStates", *map(byref, flags), byref(following))
        return _EventInfo(*(int(flag.value) for flag in flags), following.value)

    def completed(self) -> tuple[bool, bool]:
        """The end of a step: whether an event is wanted, and whether the simulation ends."""
        kind = c_int if self.version == "2" else c_bool
        event, end = kind(), kind()
        self.call("CompletedIntegratorStep", kind(1), byref(event), byref(end))
        return bool(event.value), bool(end.value)


def simulate_fmu(
    path: Path | str,
    *,
    fmi_type: str = "CoSimulation",
    start_time: float = 0.0,
    stop_time: float,
    output_interval: float,
    output: Sequence[str],
    start_values: Mapping[str, float] | None = None,
    input: np.ndarray | None = None,
    logger: Callable[..., None] | None = None,
    relative_tolerance: float = 1e-10,
) -> dict[str, np.ndarray]:
    """Outputs at the communication points, by name, as FMPy's function of that name returns them.

    ``input`` has a column of times and one per input.
    """
    one = Host(Path(path), exchange=fmi_type == "ModelExchange", signals=input)
    run = _exchanged if fmi_type == "ModelExchange" else _co_simulated
    count = round((stop_time - start_time) / output_interval)
    times = start_time + (stop_time - start_time) * np.arange(count + 1) / count
    try:
        one.initialize(start_time, start_values or {})
        rows = run(one, times, output, relative_tolerance)
    finally:
        for message in one.messages if logger else []:
            logger(message)  # type: ignore[misc]
        one.close()
    table = np.array(rows)
    return {"time": table[:, 0], **{name: table[:, i + 1] for i, name in enumerate(output)}}


def _co_simulated(one: Host, times: np.ndarray, output: Sequence[str], _: float) -> list[list[float]]:
    rows = [[times[0], *one.get(output)]]
    for t, after in pairwise(times):
        one.feed(t, jump=True)
        if one.step(t, after - t):
            break
        rows.append([after, *one.get(output)])
    return rows


def _exchanged(one: Host, times: np.ndarray, output: Sequence[str], rtol: float) -> list[list[float]]:
    """Steps of DOP853, cut where an event function changes sign, a clock is due, inputs jump or outputs are
    wanted.
    """
    t = float(times[0])
    info = one.discrete()
    one.call("EnterContinuousTimeMode")
    x = one.vector("GetContinuousStates", one.states)
    rows = [[t, *one.get(output)]]
    for goal in times[1:]:
        while t < goal:
            jump = one.next_jump(t)
            due = min(float(goal), jump, info.next if info.scheduled else np.inf)
            solver = DOP853(one.rates, t, x, due, rtol=rtol, atol=1e-2 * rtol, max_step=0.01)
            before, wanted = one.signs(t, x), False
            while solver.status == "running" and not wanted:
                solver.step()
                t, x, wanted = _located(one, solver, before)
                one.place(t, x)
                asked, ended = one.completed()
                wanted = wanted or asked
                if ended:
                    return rows
            if wanted or t >= due < goal or t >= jump or (info.scheduled and t >= info.next):
                one.call("EnterEventMode")
                one.feed(t, jump=t >= jump)
                info = one.discrete()
                if info.terminate:
                    return rows
                one.call("EnterContinuousTimeMode")
                x = one.vector("GetContinuousStates", one.states)
        rows.append([t, *one.get(output)])
    return rows


def _located(one: Host, solver: DOP853, before: np.ndarray) -> tuple[float, np.ndarray, bool]:
    """The end of a step, or the first place in it where an event function has changed sign."""
    if not np.any(one.signs(solver.t, solver.y) != before):
        return float(solver.t), solver.y, False
    inside, low, high = solver.dense_output(), float(solver.t_old), float(solver.t)
    while high - low > 4e-16 * max(abs(high), 1.0):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        if np.any(one.signs(middle, inside(middle)) != before):
            high = middle
        else:
            low = middle
    return high, inside(high), True
