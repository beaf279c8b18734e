"""Checks of a run's settings and the ways in which it ends: the same in all languages."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from armillary.export.text.files.settings import run_keys
from armillary.export.text.printing.solver_printer import SolverPrinter
from armillary.runtime.solver.language.translator import Solver
from armillary.runtime.solver.methods import method_names

# What must hold, in the language of runtime/solver, of keys of [run] and of `chooses`, whether the method
# chooses its steps; and the message where it does not, which the values of these keys follow.
RULES = (
    ("duration >= 0.0 and duration < INFINITY", "the duration must be finite and not negative"),
    ("step >= 0.0 and step < INFINITY", "the step must be finite and not negative"),
    ("step > 0.0 or chooses", "{fixed} take steps of one size; give step, such as 1e-3"),
    ("rtol >= 0.0 and atol >= 0.0 and rtol + atol > 0.0", "tolerances must be positive"),
    ("max_step > 0.0 and max_steps >= 1", "max_step and max_steps must be positive"),
    ("sample >= 0.0 and sample < INFINITY", "the time between rows must be positive and finite"),
    ("not (sample > 0.0) or duration <= 1e8 * sample", "the time between rows must give at most 1e8 rows"),
)


@dataclass(frozen=True)
class RunStatus:
    """The status of a run: its name, words for users, and its meaning where these do not show it."""

    name: str
    words: str
    about: str = ""


STATUSES = (
    RunStatus("running", "running"),
    RunStatus("finished", "finished"),
    RunStatus("event", "event"),
    RunStatus("diverged", "diverged", "a value is no longer finite"),
    RunStatus("too_small", "step too small", "no step is small enough for the tolerance"),
    RunStatus("accumulates", "events accumulate", "an event happens faster and faster"),
    RunStatus(
        "open", "the loops cannot be closed", "the loops cannot be closed, at the start or after an event"
    ),
    RunStatus("too_many", "too many steps", "more steps than max_steps"),
    RunStatus("singular", "the mass matrix becomes singular", "some motion moves no mass there"),
)
# Names of those that the solver sets: the loops are closed before and between its steps.
SOLVER_STATUSES = tuple(status.name.upper() for status in STATUSES if status.name != "open")

NO_SOLVER = Solver((), {}, {}, {})  # for a printer of settings alone


def setting_checks(printer: SolverPrinter, refusal: str, place: str, words: Mapping[str, str]) -> str:
    """Statements that check the settings of a run: ``refusal`` has places for a condition, a message and the
    values that it states, ``place`` stands for one in the message; ``words``: how a program spells settings.
    """
    printer.names = {**printer.names, **words}
    fixed, known = method_names(False, joint="and"), {key.key for key in run_keys()}
    texts = []
    for rule, message in RULES:
        tree = ast.parse(f"not ({rule})", mode="eval").body
        names = dict.fromkeys(n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id in known)
        values = {name: words.get(name, name) for name in names}
        stated = " and ".join(f"{name} is {place.format(value)}" for name, value in values.items())
        sentence = f"{message.format(fixed=fixed)}; {stated}"
        texts.append(refusal.format(printer.expression(tree), sentence, ", ".join(["", *values.values()])))
    return "\n".join(texts)


def prefixed(prefix: str) -> dict[str, str]:
    """Settings as members of a structure."""
    return {key.key: f"{prefix}{key.key}" for key in run_keys()}


def status_words(quote: str = '"', joint: str = ", ") -> str:
    """Statuses in words, in the order of their numbers."""
    return joint.join(f"{quote}{status.words}{quote}" for status in STATUSES)
