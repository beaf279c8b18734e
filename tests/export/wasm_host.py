"""A host of WebAssembly modules in Python, by wasmtime: what model.js does in a browser."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

if TYPE_CHECKING:
    import wasmtime

FINISHED, EVENT, FULL = 1, 2, 7


def instance(code: bytes) -> tuple[wasmtime.Store, wasmtime.Instance]:
    """A module, with the functions of JavaScript's Math that it imports."""
    wasmtime = pytest.importorskip("wasmtime")
    store = wasmtime.Store()
    module = wasmtime.Module(store.engine, code)
    functions = {"sin": math.sin, "cos": math.cos, "tan": math.tan, "fmod": math.fmod}
    real = wasmtime.ValType.f64()
    given = [
        wasmtime.Func(store, wasmtime.FuncType([real] * len(i.type.params), [real]), functions[str(i.name)])
        for i in module.imports
    ]
    return store, wasmtime.Instance(store, module, given)


class Host:
    """A model in a module: the same steps as in the class of model.js."""

    def __init__(self, code: bytes, about: Mapping[str, Any]) -> None:
        self.about = about
        self.store, self.instance = instance(code)
        exported = self.instance.exports(self.store)
        self.exported: Any = exported
        memory = exported["memory"]
        size = memory.data_len(self.store)  # type: ignore[union-attr]
        address = ctypes.addressof(memory.data_ptr(self.store).contents)  # type: ignore[union-attr]
        self.bytes = (ctypes.c_uint8 * size).from_address(address)
        self.reals = np.frombuffer(self.bytes, dtype=float)
        self.wholes = np.frombuffer(self.bytes, dtype=np.int64)
        self.names = [p["name"] for p in about["parameters"]]
        self.set_parameters({})

    def call(self, name: str, *arguments: Any) -> Any:
        return self.exported[name](self.store, *arguments)

    def array(self, name: str, length: int, offset: int = 0) -> np.ndarray:
        start = self.about["places"][name] // 8 + offset
        return self.reals[start : start + length]

    def set_parameters(self, values: Mapping[str, float]) -> None:
        parameters = self.about["parameters"]
        self.array("parameters", len(parameters))[:] = [
            values.get(p["name"], p["value"]) * p["factor"] for p in parameters
        ]
        places, all_of_them = self.about["places"], self.about["configurations"]
        only = {"suffix": "", "constants": self.about["constants"]}
        for one in all_of_them["each"] if all_of_them else [only]:
            own = places[f"constants{one['suffix']}"]
            self.call(f"precompute{one['suffix']}", places["parameters"], own)
            self.call("pose_precompute", places["parameters"], own + 8 * one["constants"])

    def function(self, name: str, length: int, t: float, state: Any, memory: Any = ()) -> np.ndarray:
        places = self.about["places"]
        self.array("state", len(state))[:] = state
        self.array("memory_in", len(memory))[:] = memory
        self.call(name, t, *(places[n] for n in ("state", "constants", "memory_in", "out")))
        return self.array("out", length).copy()

    def start_memory(self, t0: float, values: Mapping[str, float]) -> list[float]:
        """The memory at the start of a run."""
        return [
            values[m["name"]] * m["factor"] if m["name"] in values
            else m["initial"] if m["period"] is None else t0 + m["period"]
            for m in self.about["memory"]
        ]  # fmt: skip

    def begin(self, given: Any, memory: Any) -> tuple[np.ndarray, np.ndarray]:
        """State and memory of a start from the values that it is given."""
        if "start" not in self.exported:
            return np.array(given), np.array(memory)
        places = self.about["places"]
        self.array("state", len(given))[:] = given
        self.array("memory_in", len(memory))[:] = memory
        self.call("start", 0.0, *(places[n] for n in ("state", "parameters", "memory_in", "out")))
        found = self.array("out", len(memory) + len(given)).copy()
        return found[len(memory) :], found[: len(memory)]

    def events(self) -> list[tuple[str, float]]:
        """Events noted since the start, without hidden ones."""
        count = int(self.get("firings"))
        log = self.array("log", 2 * count).reshape(count, 2)
        changes = self.about["configurations"]
        own = changes["own_events"] if changes else math.inf
        named = [(self.about["events"][int(k)], float(t)) for t, k in log if 0 <= k < own]
        return [(e["name"], t) for e, t in named if not e["hidden"]]

    def _set(self, field: str, value: float) -> None:
        at = self.about["places"]["control"] // 8 + self.about["fields"][field]
        (self.reals if field in self.about["reals"] else self.wholes)[at] = value

    def get(self, field: str) -> Any:
        at = self.about["places"]["control"] // 8 + self.about["fields"][field]
        return (self.reals if field in self.about["reals"] else self.wholes)[at]

    def start(self, state: Any, memory: Any, *, method: str, t_end: float, step: float = 0.0, t0: float = 0.0,
              rtol: float = 1e-9, atol: float = 1e-11, every_step: bool = False) -> None:  # fmt: skip
        """The loop's memory as at the start of a run."""
        about, places = self.about, self.about["places"]
        self.method = about["methods"][method]
        self.drive = f"drive_{method}"
        self.array("control", len(about["fields"]))[:] = 0.0
        self.array("workspace", self.method["length"])[:] = 0.0
        events, room = about["events"], about["room"]
        filled = {"state": state, "memory": memory, "direction": [e["direction"] for e in events],
                  "terminal": [e["terminal"] for e in events], "last": [-math.inf] * room["events"],
                  "gap": [math.inf] * room["events"], "atol": [atol] * room["states"],
                  "g": [1.0] * room["events"]}  # fmt: skip
        for name, offset in self.method["offsets"].items():
            self.array("workspace", len(filled[name]), offset)[:] = filled[name]
        for field, value in {
            "t": t0, "t0": t0, "t_end": t_end, "step": step, "max_step": math.inf, "rtol": rtol, "h": step,
            "t_old": t0, "error_old": 1e-4, "shortest": math.inf, "phase": about["arrived"], "failed": -1,
            "at_grid": 1, "restart": 1, "choose_step": step == 0.0,
            "every_step": every_step, "constants": places["constants"], "times": places["times"],
            "samples": places["rows"], "log": places["log"], "stops": places["stops"],
            "log_capacity": about["log"],
        }.items():  # fmt: skip
            self._set(field, value)
        self.array("stops", 1)[:] = math.inf
        if changes := about["configurations"]:
            sections, figures = changes["sections"], changes["figures"]
            first = places["sections"] // 8
            self.wholes[first : first + len(sections)] = sections
            self.array("figures", figures["length"])[:] = 0.0
            self.array("figures", figures["length"])[figures["places"]] = figures["values"]
            for field, value in {
                "sections": places["sections"], "figures": places["figures"], "look": -math.inf,
                "configurations": len(changes["each"]), "used": changes["each"][0]["states"],
            }.items():  # fmt: skip
                self._set(field, value)
            self.call(f"choose_start_{method}", places["control"], places["workspace"])

    def run(self, times: np.ndarray) -> tuple[np.ndarray, int]:
        """Rows at these times, and why the loop came back at last."""
        about, found, done = self.about, [], 0
        times = np.append(times, math.inf)
        while True:
            count = min(about["rows"], len(times) - done)
            self.array("times", count)[:] = times[done : done + count]
            self._set("filled", 0)
            self._set("capacity", count)
            self._set("budget", 10**9)
            reason = self.call(self.drive, about["places"]["control"], about["places"]["workspace"])
            filled = int(self.get("filled"))
            found.append(self.array("rows", filled * about["row"]).reshape(filled, about["row"]).copy())
            done += filled
            if reason != FULL:
                return np.concatenate(found), reason

    def run_until(self, t: float) -> np.ndarray:
        """The row at the next time, as an animation asks for it; the run goes on from there."""
        self.array("times", 1)[:] = t
        self._set("filled", 0)
        self._set("capacity", 1)
        self._set("budget", 10**9)
        assert (
            self.call(self.drive, self.about["places"]["control"], self.about["places"]["workspace"]) == FULL
        )
        return self.array("rows", self.about["row"]).copy()
