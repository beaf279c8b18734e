"""Parts that all stages share: verbs from other modules, the object that draws motions, hints to stages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, Generic, ParamSpec, TypeVar

from armillary.errors import nearest
from armillary.untyped import AnyFunction, Given

if TYPE_CHECKING:
    from armillary.ensembles.result import Batch
    from armillary.program.equations import DerivedEquations
    from armillary.results import Run
    from armillary.results.plots.motion import PictureOptions


Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Core = TypeVar("Core")
Value = TypeVar("Value", covariant=True)


class LazyVerb:
    """A verb that takes its signature, docstring and code from a function in another module.

    The function has the name of the verb, unless ``function`` names another. It takes the stage's ``_core``
    in place of the stage. The module is imported when the verb is first accessed, so ``import armillary``
    stays quick; from then on the class has an ordinary method.
    """

    def __init__(self, module: str, function: str = "") -> None:
        self.module, self.function = module, function

    def __set_name__(self, owner: type, name: str) -> None:
        self.owner, self.name = owner, name

    def __get__(self, stage: Given, owner: type) -> AnyFunction:
        import inspect
        from importlib import import_module

        function: AnyFunction = getattr(import_module(self.module), self.function or self.name)

        @wraps(function)
        def verb(stage: Given, *arguments: Given, **named: Given) -> object:
            return function(stage._core, *arguments, **named)

        signature = inspect.signature(function)
        first, *others = signature.parameters.values()
        first = first.replace(name="self", annotation=inspect.Parameter.empty)
        vars(verb)["__signature__"] = signature.replace(parameters=[first, *others])
        verb.__name__ = self.name
        verb.__qualname__ = f"{self.owner.__name__}.{self.name}"
        setattr(self.owner, self.name, verb)
        method: AnyFunction = getattr(owner if stage is None else stage, self.name)
        return method


class CoreValue(property, Generic[Value]):
    """A property of a stage: its value is the attribute with the same name of the stage's core.

    ``about`` is the docstring, or a class whose attribute of this name has the docstring; ``of`` is the name
    of the field that holds the core.
    """

    def __init__(self, about: str | type, of: str = "_core") -> None:
        self._about, self._of = about, of

    def __set_name__(self, owner: type, name: str) -> None:
        about = self._about
        text = about if isinstance(about, str) else getattr(about, name).__doc__
        super().__init__(attrgetter(f"{self._of}.{name}"), doc=text)
        self.__doc__ = text  # without this, help() shows the docstring of CoreValue

    if TYPE_CHECKING:
        # mypy: the type of the attribute, which a property does not state.
        def __get__(self, stage: object, owner: type | None = None, /) -> Value: ...  # type: ignore[override]


def core_verb(
    method: Callable[Concatenate[Core, Arguments], Result],
) -> Callable[Concatenate[Given, Arguments], Result]:
    """Return a method of a stage that calls the core's method of the same name, with that signature and
    docstring.
    """
    name = method.__name__

    @wraps(method)
    def verb(stage: Given, /, *arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        result: Result = getattr(stage._core, name)(*arguments, **named)
        return result

    return verb


def typed_verb(
    function: Callable[Concatenate[Core, Arguments], Result],
) -> Callable[Concatenate[Given, Arguments], Result]:
    """Return the type of a `LazyVerb`; only type checkers read this."""
    raise NotImplementedError


@dataclass(frozen=True)
class MotionPictures:
    """The object that draws motions from equations, without machine code: a `MotionPicture` for results."""

    equations: DerivedEquations

    def page(self, run: Run, title: str = "", options: PictureOptions | None = None) -> str:
        """Return the motion of a run as the text of one HTML page; ``run.animate`` writes it to a file."""
        from armillary.viewer.page import page_of

        return page_of(run, self.equations, title, options)

    def film(self, run: Run, path: Path, options: PictureOptions) -> None:
        """Write the motion of a run as a picture or film, for ``run.animate``."""
        from armillary.viewer.film import film_of

        film_of(run, self.equations, path, options)

    def choice(self, runs: Sequence[Run], labels: Sequence[str], title: str, options: PictureOptions) -> str:
        """Return several motions as the text of one HTML page, for ``modes.view``."""
        from armillary.viewer.figures import figure_of
        from armillary.viewer.views import page_of_figures

        figures = [figure_of(run, self.equations, options, arrows=False) for run in runs]
        return page_of_figures(figures, runs, labels, "choose", title, options)

    def cloud(self, batch: Batch, colour: str | None, title: str, options: PictureOptions) -> str:
        """Return all runs of a batch as the text of one HTML page, for ``batch.view``."""
        from armillary.viewer.views import cloud_page

        return cloud_page(batch, self.equations, colour, title, options)

    def scene(self, run: Run, path: Path) -> None:
        """Write the motion of a run as a binary glTF file, for ``run.animate``."""
        from armillary.viewer.gltf import write_glb

        write_glb(run, self.equations, path)


# Verbs that users look for at the wrong stage, by the class that has them.
VERBS = {
    "System": "body parameter input output force moment strut gravity constrain event lock prescribe save",
    "Equations": "compile export show report latex html operations formalism configurations dependents",
    "Model": "simulate simulate_batch equilibrium trim trace linearize sweep solve inverse live lqr optimize",
    "LinearModel": "modes poles zeros bode nyquist frequency_response step_response transfer_function",
    "Run": "plot animate interpolate final time",
}
# Expressions that lead from an object of one stage to an object of another.
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
# Usual words of other programs for verbs of a description.
_WORDS = {"torque": "moment", "spring": "strut", "damper": "strut", "link": "body"}


class OtherStages:
    """A stage whose error for a missing attribute names the stage that has it, by the call that leads there:
    ``system.derive().compile().simulate``.
    """

    _stage = ""

    if not TYPE_CHECKING:  # with this method, type checkers would accept any name

        def __getattr__(self, name: str) -> object:
            if hasattr(type(self), name):  # a property that failed raises its own error
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
