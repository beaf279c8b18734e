"""Linear models in other forms: discrete in time, transfer functions, objects of SciPy and python-control;
reports, and the content of files.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TypeVar

import numpy as np

from armillary.algebra.arguments import one_of, positive_number
from armillary.analysis.linear.matrices import LinearMatrices
from armillary.analysis.linear.responses import needs_ports, port
from armillary.analysis.linear.structure import linked_matrices, minimal_matrices, single_zeros
from armillary.errors import ArmillaryError, require
from armillary.model.units import seconds
from armillary.program.linearization import Variable
from armillary.results.record import label_units
from armillary.text_tables import aligned, html_table, html_text
from armillary.untyped import DataTable, LibraryObject

_ROTATED = 1e-13  # largest rounding error after a rotation, as a share of a matrix's largest element
METHODS = ("zoh", "foh", "impulse", "bilinear", "euler", "backward_diff")


_Linear = TypeVar("_Linear", bound=LinearMatrices)


def discretize(lin: _Linear, T: float | str, method: str = "zoh") -> _Linear:
    """Return the model x[k+1] = A x[k] + B v[k] with steps of T seconds.

    Methods are those of ``scipy.signal.cont2discrete``: "zoh" holds inputs constant over a step, "foh" makes
    them linear, "impulse" keeps the impulse response, "bilinear" is Tustin's rule, "euler" takes forward and
    "backward_diff" backward differences.
    """
    from scipy.signal import cont2discrete

    lin.single("discretize")
    if lin.step is not None:
        raise ArmillaryError(f"the model is discrete already, with steps of {lin.step:g} s")
    step = positive_number(seconds(T, "the step of discretize"), "the step of discretize, in seconds,")
    one_of(method, METHODS, "unknown method of discretize ")
    A, B, C, D, _ = cont2discrete((lin.A, lin.B, lin.C, lin.D), step, method=method)
    return replace(lin, A=A, B=B, C=C, D=D, step=step, linearization=None, note=f"{method}, T = {step:g} s")


def to_scipy(lin: LinearMatrices) -> LibraryObject:
    """Return a ``scipy.signal.StateSpace``."""
    from scipy.signal import StateSpace

    lin.single("to_scipy")
    needs_ports(lin)
    dt = {} if lin.step is None else {"dt": lin.step}
    return StateSpace(lin.A, lin.B, lin.C, lin.D, **dt)


def to_control(lin: LinearMatrices) -> LibraryObject:
    """Return a ``control.StateSpace`` with the names of states, inputs and outputs; dots become "_"."""
    control = require("control", extra="control", purpose="Systems of python-control")
    lin.single("to_control")
    # The interconnected systems of python-control split names of signals at dots.
    names = {
        key: [name.replace(".", "_") for name in group]
        for key, group in (("states", lin.states), ("inputs", lin.inputs), ("outputs", lin.outputs))
    }
    dt = 0 if lin.step is None else lin.step
    name = "".join(c if c.isalnum() else "_" for c in lin.system)
    return control.ss(lin.A, lin.B, lin.C, lin.D, dt, name=name, remove_useless_states=False, **names)


@dataclass(frozen=True, eq=False, repr=False)
class TransferFunction:
    """gain · Π (s − zeros) / Π (s − poles) from one input to one output; in discrete time with z for s."""

    input: str
    output: str
    zeros: np.ndarray
    poles: np.ndarray
    gain: float
    step: float | None = None

    @property
    def numerator(self) -> np.ndarray:
        """Coefficients of the numerator, the highest power first."""
        return self.gain * np.atleast_1d(np.real(np.poly(self.zeros)))

    @property
    def denominator(self) -> np.ndarray:
        """Coefficients of the denominator, the highest power, with coefficient 1, first."""
        return np.atleast_1d(np.real(np.poly(self.poles)))

    def __call__(self, s: object) -> LibraryObject:
        """Return the value at a complex number, or at several."""
        s = np.asarray(s, dtype=complex)[..., None]
        return self.gain * np.prod(s - self.zeros, axis=-1) / np.prod(s - self.poles, axis=-1)

    def __repr__(self) -> str:
        s = "s" if self.step is None else "z"
        roots = np.abs(np.concatenate([self.poles, self.zeros]))
        typical = float(np.median(roots[roots > 0])) if np.any(roots > 0) else 1.0
        above, below = (_polynomial(p, s, typical) for p in (self.numerator, self.denominator))
        head = f"{self.output} by {self.input}:"
        wide = max(len(above), len(below))
        return "\n".join([f"{head} {above:^{wide}}".rstrip(), " " * (len(head) + 1) + "-" * wide,
                          (" " * (len(head) + 1) + f"{below:^{wide}}").rstrip()])  # fmt: skip


def _polynomial(p: np.ndarray, s: str, typical: float) -> str:
    """Return a polynomial as text, without terms that are below rounding at a typical frequency."""
    sizes = np.abs(p) * typical ** np.arange(len(p) - 1.0, -1.0, -1.0)
    text = ""
    for k, c in enumerate(p):
        power = len(p) - 1 - k
        if sizes[k] <= 1e-10 * np.max(sizes):
            continue
        size = f"{abs(c):.5g}"
        unit = "" if power == 0 else s if power == 1 else f"{s}^{power}"
        term = unit if unit and size == "1" else " ".join(filter(None, (size, unit)))
        sign = ("- " if c < 0 else "+ ") if text else ("-" if c < 0 else "")
        text += f" {sign}{term}" if text else f"{sign}{term}"
    return text or "0"


def transfer_function(
    lin: LinearMatrices, output: str | None = None, input: str | None = None
) -> TransferFunction:
    """Return zeros, poles and gain from an input to an output, without modes that cancel."""
    needs_ports(lin)
    lin.single("transfer_function")
    for given, known, what in ((output, lin.outputs, "output"), (input, lin.inputs, "input")):
        if given is None and len(known) > 1:
            raise ArmillaryError(f"name the {what} of the transfer function: {what}='{known[0]}', …")
    i = port(output or lin.outputs[0], lin.outputs, "output")
    j = port(input or lin.inputs[0], lin.inputs, "input")
    D = lin.D[i : i + 1, j : j + 1]
    whole = lin.A, lin.B[:, j : j + 1], lin.C[i : i + 1]
    A, B, C = minimal_matrices(*whole)
    poles = np.linalg.eigvals(A).astype(complex)
    if not len(A) or not np.any(B):
        zeros, gain = np.empty(0, dtype=complex), float(D[0, 0])
    else:
        rotated = len(A) < len(linked_matrices(*whole)[0])
        found = single_zeros(A, B[:, 0], C[0], D[0, 0], _ROTATED if rotated else 0.0)
        zeros = np.empty(0, dtype=complex) if found is None else found
        gain = _gain(A, B, C, D, poles, zeros)
    return TransferFunction(lin.inputs[j], lin.outputs[i], zeros, poles, gain, lin.step)


def _gain(
    A: np.ndarray, B: np.ndarray, C: np.ndarray, D: np.ndarray, poles: np.ndarray, zeros: np.ndarray
) -> float:
    """Return the gain, computed from the value of the transfer function at one s.

    s has the typical size of the poles and is chosen far from poles and zeros. An s beyond all poles and
    zeros would be inaccurate: zeros may be orders of magnitude beyond the poles, where the value is a small
    difference of far larger terms.
    """
    sizes = np.abs(poles)
    typical = float(np.exp(np.mean(np.log(sizes[sizes > 0])))) if np.any(sizes > 0) else 1.0
    angles = np.linspace(0.0, np.pi, 25)  # roots come in conjugate pairs
    places = typical * np.exp(1j * angles)
    roots = np.concatenate([poles, zeros])
    apart = np.abs(places[:, None] - roots) / (typical + np.abs(roots))
    s = places[int(np.argmax(np.min(apart, axis=1)))]
    value = (C @ np.linalg.solve(s * np.eye(len(A)) - A, B) + D)[0, 0]
    return float(np.real(value * np.exp(np.sum(np.log(s - poles)) - np.sum(np.log(s - zeros)))))


# Reports of linear models: the operating point, the matrices, the poles.

Table = tuple[str, list[str], list[list[str]], str]


def report(lin: LinearMatrices) -> str:
    """Return the report as text."""
    lines = [repr(lin)]
    for title, header, rows, sides in _matrix_tables(lin):
        lines += ["", title, *(f"  {line}" for line in aligned([header, *rows], sides))]
    return "\n".join(lines)


def html_report(lin: LinearMatrices) -> str:
    """Return the report as the body of a page."""
    parts = [
        html_table(header, rows, sides, caption=title) for title, header, rows, sides in _matrix_tables(lin)
    ]
    return f"<p>{html_text(repr(lin))}</p>" + "".join(parts)


def _matrix_tables(lin: LinearMatrices) -> list[Table]:
    if lin.many:
        return []
    found: list[Table] = []
    if lin.operating_point:
        units, values = lin.units, {**lin.operating_point, **lin.input_values}
        rows = [[n, f"{x:.6g}", label_units(units.get(n, ""))] for n, x in values.items()]
        found.append((f"operating point at t = {float(lin.time):g} s", ["", "value", "units"], rows, "<><"))
    for title, header, rows in lin.tables():
        found.append((title, header, rows, "<" + ">" * (len(header) - 1)))
    found.append(
        ("poles", ["real (1/s)", "imaginary (1/s)", "frequency (Hz)", "damping"], _poles(lin), ">>>>")
    )
    return found


def _poles(lin: LinearMatrices) -> list[list[str]]:
    poles = lin.poles() if lin.step is None else np.log(lin.poles() + 0j) / lin.step
    small = 1e-9 * np.max(np.abs(poles), initial=0.0)
    rows = []
    for p in sorted(poles, key=lambda p: (abs(p), p.imag)):
        if p.imag < -small:
            continue
        size = abs(p)
        damping = f"{-p.real / size:.4g}" if size > small else ""
        frequency = f"{size / 2 / np.pi:.4g}" if p.imag > small else ""
        real, imaginary = (f"{0.0 if abs(x) <= small else x:.5g}" for x in (p.real, p.imag))
        rows.append([real, f"±{imaginary}" if p.imag > small else "", frequency, damping])
    return rows


_ARRAYS = ("A", "B", "C", "D", "time", "state", "memory")
_GROUPS = ("states", "inputs", "outputs")
_VALUES = ("parameters", "operating_point", "input_values")


def linear_content(lin: LinearMatrices) -> DataTable:
    """Return the content of a file that holds a linear model exactly."""
    content: DataTable = {"system": lin.system, "note": lin.note}
    content |= {name: np.asarray(getattr(lin, name)).tolist() for name in _ARRAYS}
    content["shapes"] = {name: list(np.shape(getattr(lin, name))) for name in _ARRAYS}
    content["step"] = lin.step
    content |= {g: [asdict(v) for v in group] for g, group in zip(_GROUPS, lin.variables, strict=True)}
    for key in _VALUES:
        content[key] = {n: np.asarray(v).tolist() for n, v in getattr(lin, key).items()}
    return content


def linear_fields(content: DataTable) -> DataTable:
    """Return the fields of the linear model in a file."""
    shapes = content["shapes"]
    arrays: DataTable = {n: np.array(content[n], dtype=float).reshape(shapes[n]) for n in _ARRAYS}
    x, v, y = (tuple(Variable(**item) for item in content[g]) for g in _GROUPS)
    if arrays["A"].ndim == 2:
        arrays["time"] = float(arrays["time"])
    values: DataTable = {
        key: {n: np.array(x) if isinstance(x, list) else x for n, x in content.get(key, {}).items()}
        for key in _VALUES
    }
    found = {key: content[key] for key in ("system", "step", "note")}
    texts = [found["system"], *(text for each in (*x, *v, *y) for text in (each.name, each.units))]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("a name or unit is no text")
    return {**found, "variables": (x, v, y), **arrays, **values}
