"""Names that a system, its equations and its model show, and hints to names of other stages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar

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
# Names that other parts of the package use, and no user: ``dir`` and the reference leave them out.
INTERNAL = {
    "System": """all_gravities all_loads calls centres composites declared_names declared_only efforts
        extent gravities identity imported input_rates lookup mass_centre_starts modal_forces
        moving recorder smallness started triple""",
    "Equations": """all_speeds check_use choice cloud conversion described_start described_states
        export_remarks film hidden_states joints_move_bodies judged mass_centre_starts method_family
        motion_names options reduction refusals size_constants start_factors start_names start_places
        startable targets""",
    "Model": """along base change_code change_figures change_sections changes_configuration
        changes_inside check_start choice choices cloud compiler configuration_models constants_inside
        differentiated driven driven_inputs ends_a_leg
        exchange_texts film function further_states in_configuration
        independent_speeds inside loops masses may_change_configuration may_refuse parameter_table
        parameters_inside picture place_at_start plain plain_state rated_choices row_energy
        run_functions run_with second_half
        start_tail starts_plainly three_angles tolerances watched_index weakening""",
}
_WORDS = {"torque": "moment", "spring": "strut", "damper": "strut", "link": "body"}


class OtherStages:
    """A stage whose error for a missing attribute names the call that has it.

    An example is ``system.derive().compile().simulate``. ``dir`` and the completion of editors list names for
    users only.
    """

    _stage = ""

    if not TYPE_CHECKING:  # type checkers would take any name for known

        def __getattr__(self, name: str) -> object:
            if hasattr(type(self), name):  # a property that failed: its own error
                return object.__getattribute__(self, name)
            hint = "" if name.startswith("_") else self._hint(name)
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'{hint}")

    def __dir__(self) -> Iterable[str]:
        return set(super().__dir__()) - set(INTERNAL[self._stage].split())

    def _hint(self, name: str) -> str:
        for stage, way in _WAYS[self._stage].items():
            if name in VERBS[stage].split():
                return f"; write {way}.{name}"
        if name in _WORDS and self._stage == "System":
            return f"; write system.{_WORDS[name]}"
        return nearest(name, [known for known in dir(self) if not known.startswith("_")])


Verbs = TypeVar("Verbs")
_made: dict[type, type] = {}  # classes for formalisms that no stage lists


def class_with_verbs(plain: type, known: tuple[type[Verbs], ...]) -> type[Verbs]:
    """Return the user-facing class for an internal class: the registered one, else a new subclass of it and
    the nearest registered one, for a formalism with its own class.
    """
    made_of = {base: kind for kind in known for base in kind.__bases__}
    if plain in made_of:
        return made_of[plain]
    if plain not in _made:
        nearest = next(made_of[base] for base in plain.__mro__ if base in made_of)
        name = plain.__name__.removeprefix("Derived").removeprefix("Compiled")
        _made[plain] = type(name, (nearest, plain), {"__doc__": plain.__doc__})
    return _made[plain]
