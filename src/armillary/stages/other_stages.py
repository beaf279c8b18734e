"""Hints to verbs of other stages, in errors for attributes that a stage does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armillary.errors import nearest

# The verbs that are looked for at the wrong stage, by the class that has them.
VERBS = {
    "System": "body parameter input output force moment strut gravity constrain event lock prescribe save",
    "Equations": "compile export show report latex html operations formalism configurations dependents",
    "Model": "simulate simulate_batch equilibrium trim trace linearize sweep solve inverse live lqr optimize",
    "LinearModel": "modes poles zeros bode nyquist frequency_response step_response transfer_function",
    "Run": "plot animate interpolate final time",
}
_WAYS = {
    "System": {
        "Equations": "system.derive()",
        "Model": "system.derive().compile()",
        "LinearModel": "system.derive().compile().linearize(…)",
        "Run": "system.derive().compile().simulate(…)",
    },
    "Equations": {
        "System": "equations.system",
        "Model": "equations.compile()",
        "LinearModel": "equations.compile().linearize(…)",
        "Run": "equations.compile().simulate(…)",
    },
    "Model": {
        "System": "model.equations.system",
        "Equations": "model.equations",
        "LinearModel": "model.linearize(…)",
        "Run": "model.simulate(…)",
    },
}
_WORDS = {"torque": "moment", "spring": "strut", "damper": "strut", "link": "body"}


class OtherStages:
    """A stage whose error for a missing attribute names the call that has it.

    An example is ``system.derive().compile().simulate``.
    """

    _stage = ""

    if not TYPE_CHECKING:  # type checkers would take any name for known

        def __getattr__(self, name: str) -> object:
            if hasattr(type(self), name):  # a property that failed: its own error
                return object.__getattribute__(self, name)
            hint = "" if name.startswith("_") else self._hint(name)
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'{hint}")

    def _hint(self, name: str) -> str:
        for stage, way in _WAYS[self._stage].items():
            if name in VERBS[stage].split():
                return f"; write {way}.{name}"
        if name in _WORDS and self._stage == "System":
            return f"; write system.{_WORDS[name]}"
        return nearest(name, [known for known in dir(self) if not known.startswith("_")])
