"""The library inside an FMU, loaded into this process, and its instances.

Functions that are called once per run are called from here, through ctypes; compiled code calls the functions
of communication points (functions.py).
"""

from __future__ import annotations

import ctypes
import ctypes.util
import sys
import tempfile
from collections import deque
from collections.abc import Mapping
from ctypes import CFUNCTYPE, POINTER, byref, c_bool, c_char_p, c_double, c_int, c_size_t, c_uint32, c_void_p
from functools import cached_property
from pathlib import Path

from armillary.errors import ArmillaryError, ModelError, SimulationError
from armillary.export.fmi import PLATFORMS, folders, this_platform
from armillary.files.fmu.description import Fmu, FmuVariable, open_archive, unpack
from armillary.untyped import LibraryObject

# The status of a call. After an error an instance may only be freed; after a fatal one nothing of the library
# may be called any more, for any instance (FMI 2.0.4, sections 2.1.3 and 4.2.4; 3.0.1, section 2.2).
OK, WARNING, DISCARD, ERROR, FATAL = range(5)

_LOG2 = CFUNCTYPE(None, c_void_p, c_char_p, c_int, c_char_p, c_char_p)
_LOG3 = CFUNCTYPE(None, c_void_p, c_int, c_char_p, c_char_p)
_LATEST = 100  # messages that are kept


class _Callbacks(ctypes.Structure):
    """The callbacks of an importer for an FMU of FMI 2.0."""

    _fields_ = (
        ("logger", _LOG2),
        ("allocate", c_void_p),
        ("release", c_void_p),
        ("finished", c_void_p),
        ("environment", c_void_p),
    )


class _EventInfo(ctypes.Structure):
    """The result of an event iteration of FMI 2.0."""

    _fields_ = (
        *((name, c_int) for name in ("more", "ended", "nominals", "moved", "scheduled")),
        ("next", c_double),
    )


_NEVER = 1e300  # stands for the time of a next event, if there is none
_MOST_ITERATIONS = 100  # of one event
_CTYPES = {
    "Float64": c_double, "Float32": ctypes.c_float, "String": c_char_p, "Boolean": c_bool,
    "Enumeration": ctypes.c_int64, "Int8": ctypes.c_int8, "UInt8": ctypes.c_uint8, "Int16": ctypes.c_int16,
    "UInt16": ctypes.c_uint16, "Int32": ctypes.c_int32, "UInt32": ctypes.c_uint32, "Int64": ctypes.c_int64,
    "UInt64": ctypes.c_uint64,
}  # fmt: skip
_SECOND = {"Float64": "Real", "Int32": "Integer", "Enumeration": "Integer"}


def _setter(kind: str, version: str) -> tuple[str, LibraryObject]:
    """Return the suffix of the FMI function that sets variables of a type (fmi2Set…), and the type in C."""
    if version == "3.0":
        return {"Enumeration": "Int64"}.get(kind, kind), _CTYPES[kind]
    return _SECOND.get(kind, kind), c_int if kind in ("Boolean", "Enumeration") else _CTYPES[kind]


def _convert_value(kind: str, value: float | str) -> float | bytes:
    if kind == "String":
        return str(value).encode()
    if kind.startswith("Float"):
        return float(value)
    # A large integer is not converted to a float, which would round it.
    return value if isinstance(value, int) else round(float(value))


class Library:
    """An FMU's library, with everything that it needs while it is loaded."""

    def __init__(self, fmu: Fmu, exchange: bool) -> None:
        identifier = fmu.exchange.identifier if exchange and fmu.exchange else fmu.identifier
        if not identifier or (exchange and fmu.exchange is None):
            offered, remedy = (
                ("model exchange", "give every=…") if exchange else ("co-simulation", "leave out every=")
            )
            other = fmu.identifier if exchange else fmu.exchange
            hint = f"; {remedy} to import it for the other kind" if other else ""
            raise ModelError(f"FMU '{fmu.name}' ({fmu.path.name}) offers no {offered}{hint}")
        self.exchange = exchange
        here = this_platform()
        file = f"{identifier}{PLATFORMS[here].suffix}"
        with open_archive(fmu.path) as archive:
            names = archive.namelist()
        places = folders(fmu.version, here)
        folder = next((place for place in places if f"{place}/{file}" in names), places[0])
        wanted = f"{folder}/{file}"
        if wanted not in names:
            there = sorted(
                {name.split("/")[1] for name in names if name.startswith("binaries/") and name.count("/") > 1}
            )
            raise ModelError(
                f"FMU '{fmu.name}' ({fmu.path.name}) holds no library for this machine ({wanted}); "
                f"it has libraries for {', '.join(there) or 'none'}"
            )
        self.fmu = fmu
        self.messages: deque[str] = deque(maxlen=_LATEST)
        self.fatal = False
        self._folder = tempfile.TemporaryDirectory(prefix="armillary-fmu-", ignore_cleanup_errors=True)
        unpack(fmu.path, (folder, "resources"), Path(self._folder.name))
        self.resources = Path(self._folder.name, "resources")
        self.resources.mkdir(exist_ok=True)
        try:
            self.code = ctypes.CDLL(str(Path(self._folder.name, wanted)))
        except OSError as error:
            raise ModelError(f"the library of FMU '{fmu.name}' cannot be loaded: {error}") from error
        self._logger = _LOG2(self._log2) if fmu.version == "2.0" else _LOG3(self._log3)

    def function(self, name: str) -> LibraryObject:
        """Return a function of the library; its result is a status."""
        try:
            return getattr(self.code, f"fmi{self.fmu.version[0]}{name}")
        except AttributeError:
            raise ModelError(
                f"the library of FMU '{self.fmu.name}' has no function fmi{self.fmu.version[0]}{name}"
            ) from None

    def address(self, name: str) -> int:
        """Return the address of a function of the library."""
        return ctypes.cast(self.function(name), c_void_p).value or 0

    def _log2(self, _: object, name: bytes, status: int, category: bytes, message: bytes) -> None:
        self._keep(message)

    def _log3(self, _: object, status: int, category: bytes, message: bytes) -> None:
        self._keep(message)

    def _keep(self, message: bytes | None) -> None:
        self.messages.append((message or b"").decode("utf-8", "replace"))

    # ------------------------------------------------------------ instances

    def instance(self, name: str) -> int:
        """Return a new instance, for co-simulation or model exchange."""
        if self.fatal:
            raise SimulationError(
                f"FMU '{self.fmu.name}' failed for good in an earlier run{self._log()}; make the model again"
            )
        token, resources = self.fmu.token.encode(), self.resources
        if self.fmu.version == "2.0":
            make = self.function("Instantiate")
            make.restype = c_void_p
            make.argtypes = (c_char_p, c_int, c_char_p, c_char_p, POINTER(_Callbacks), c_int, c_int)
            kind = int(not self.exchange)
            address = make(
                name.encode(), kind, token, resources.as_uri().encode(), byref(self._callbacks), 0, 0
            )
        elif self.exchange:
            make = self.function("InstantiateModelExchange")
            make.restype = c_void_p
            make.argtypes = (c_char_p, c_char_p, c_char_p, c_bool, c_bool, c_void_p, _LOG3)
            address = make(name.encode(), token, f"{resources}/".encode(), False, False, None, self._logger)
        else:
            make = self.function("InstantiateCoSimulation")
            make.restype = c_void_p
            make.argtypes = (
                *(c_char_p, c_char_p, c_char_p, c_bool, c_bool, c_bool, c_bool, c_void_p, c_size_t),
                *(c_void_p, _LOG3, c_void_p),
            )
            place = f"{resources}/".encode()
            address = make(
                name.encode(), token, place, False, False, False, False, None, 0, None, self._logger, None
            )
        if not address:
            raise SimulationError(f"FMU '{self.fmu.name}' could not be instantiated{self._log()}")
        return int(address)

    @cached_property
    def _callbacks(self) -> _Callbacks:
        libc = ctypes.CDLL("msvcrt" if sys.platform == "win32" else None)
        allocate, release = (ctypes.cast(f, c_void_p) for f in (libc.calloc, libc.free))
        return _Callbacks(self._logger, allocate, release, None, None)

    def initialize(
        self,
        instance: int,
        t: float,
        settings: Mapping[FmuVariable, float | str],
        inputs: Mapping[FmuVariable, float],
    ) -> None:
        """Set the parameters and inputs of an instance, and initialise it for the start of a run."""
        self.set(instance, settings)
        if self.fmu.version == "2.0":
            self._call(
                "SetupExperiment", instance, c_int(0), c_double(0.0), c_double(t), c_int(0), c_double(0.0)
            )
            self._call("EnterInitializationMode", instance)
        else:
            self._call(
                "EnterInitializationMode", instance, c_bool(False), c_double(0.0), c_double(t), c_bool(False),
                c_double(0.0),
            )  # fmt: skip
        self.set(instance, inputs)
        self._call("ExitInitializationMode", instance)

    def set(self, instance: int, values: Mapping[FmuVariable, float | str]) -> None:
        """Set variables; elements of an array for which no value is given get their start values."""
        wholes: dict[tuple[str, int], list[LibraryObject]] = {}
        for v, value in values.items():
            whole = wholes.setdefault((v.type, v.reference), list(v.starts))
            whole[v.index] = value
        for (kind, reference), numbers in wholes.items():
            name, ctype = _setter(kind, self.fmu.version)
            given = [_convert_value(kind, x) for x in numbers]
            more = (c_size_t(len(given)),) if self.fmu.version == "3.0" else ()
            array = (ctype * len(given))(*given)
            self._call(f"Set{name}", instance, byref(c_uint32(reference)), c_size_t(1), array, *more)

    # ------------------------------------------------------------ model exchange

    def iterate(self, instance: int, entered: bool = False) -> float:
        """Iterate an event until nothing changes; return the time of the next, or 1e300 if there is none."""
        if not entered:
            self._call("EnterEventMode", instance)
        for _ in range(_MOST_ITERATIONS):
            if self.fmu.version == "2.0":
                info = _EventInfo()
                self._call("NewDiscreteStates", instance, byref(info))
                more, ended, following = info.more, info.ended, info.next if info.scheduled else _NEVER
            else:
                flags, when = [c_bool() for _ in range(5)], c_double()
                self._call("UpdateDiscreteStates", instance, *map(byref, flags), byref(when))
                more, ended = flags[0].value, flags[1].value
                following = when.value if flags[4].value else _NEVER
            if ended:
                raise SimulationError(f"FMU '{self.fmu.name}' ends the simulation{self._log()}")
            if not more:
                self._call("EnterContinuousTimeMode", instance)
                return float(following)
        raise SimulationError(
            f"FMU '{self.fmu.name}': an event has no end after {_MOST_ITERATIONS} iterations"
        )

    def continuous_states(self, instance: int, count: int) -> list[float]:
        """Return the present continuous states."""
        found = (c_double * max(1, count))()
        if count:
            self._call("GetContinuousStates", instance, found, c_size_t(count))
        return list(found)[:count]

    def free(self, instance: int, status: int) -> None:
        """Free an instance; ``status`` is the worst status of its calls.

        After an error it is freed without being terminated; after a fatal error it is not freed.
        """
        self.fatal = self.fatal or status >= FATAL
        if self.fatal:
            return
        if status < ERROR:
            self.function("Terminate")(c_void_p(instance))
        release = self.function("FreeInstance")
        release.restype = None
        release(c_void_p(instance))

    def _call(self, name: str, instance: int, *arguments: object) -> None:
        status = self.function(name)(c_void_p(instance), *arguments)
        if status not in (OK, WARNING):
            self.fatal = self.fatal or status >= FATAL
            raise SimulationError(
                f"FMU '{self.fmu.name}': fmi{self.fmu.version[0]}{name} failed, status {status}{self._log()}"
            )

    def _log(self) -> str:
        return f"; its message: {self.messages[-1]}" if self.messages else ""


def load(fmu: Fmu, exchange: bool = False) -> Library:
    """Load the library of an FMU; errors of the file system become an ArmillaryError."""
    try:
        return Library(fmu, exchange)
    except OSError as error:
        raise ArmillaryError(f"FMU '{fmu.name}' cannot be unpacked: {error.strerror or error}") from error
