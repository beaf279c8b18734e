"""The compiled models that users hold, with the analyses and batches of runs that are made with them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from armillary.errors import ArmillaryError
from armillary.runtime.models.compilation import (
    CompiledConvertedModel,
    CompiledMomentumModel,
    CompiledRedundantModel,
    CompiledSensitiveModel,
)
from armillary.runtime.models.compiled import CompiledModel
from armillary.settings import SettingOptions, expanded_signature, run_settings
from armillary.stages.analyses import ModelAnalyses, ModelControl, ModelPieces
from armillary.stages.shared import CoreValue, LazyVerb, OtherStages, core_verb, typed_verb
from armillary.untyped import DataMapping

if TYPE_CHECKING:
    from typing import Unpack

    from armillary.analysis.sensitivities import Sensitivities
    from armillary.ensembles.metrics import Metrics
    from armillary.ensembles.result import Batch
    from armillary.results import Run
    from armillary.results.plots.motion import MotionView, PictureOptions
    from armillary.runtime.start.initial import OnStart
    from armillary.settings import Initial, RunOptions
    from armillary.stages.equations import Equations
    from armillary.stages.shared import MotionPictures
    from armillary.viewer import live as live_module
    from armillary.viewer import sketch


class Model(OtherStages, ModelAnalyses, ModelPieces, ModelControl):
    """The equations of one system as machine code, which is freed with this object."""

    _stage = "Model"
    _core: CompiledModel
    equations: Equations

    def __init__(self, core: CompiledModel, equations: Equations) -> None:
        self._core, self.equations = core, equations

    # ------------------------------------------------------------ contents

    formalism: CoreValue[str] = CoreValue(CompiledModel)
    tier: CoreValue[str] = CoreValue(CompiledModel)
    compile_seconds: CoreValue[float] = CoreValue("Seconds that the compilation took.")
    parameters: CoreValue[dict[str, float | None]] = CoreValue(CompiledModel)
    coordinate_names: CoreValue[tuple[str, ...]] = CoreValue(
        "Names of the coordinates, in the order of the state."
    )
    speed_names: CoreValue[tuple[str, ...]] = CoreValue("Names of the speeds, in the order of the state.")
    state_names: CoreValue[tuple[str, ...]] = CoreValue(
        "Names of the states of the user's own, which follow the speeds in the state."
    )
    output_names: CoreValue[tuple[str, ...]] = CoreValue(
        "Names of the outputs, in the order of the columns of a run."
    )

    address = core_verb(CompiledModel.address)
    constants = core_verb(CompiledModel.constants)
    compile_configurations = core_verb(CompiledModel.compile_configurations)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.equations.system.name!r}, {self._summary()})"

    def _summary(self) -> str:
        return f"{self.formalism}, {self.equations.operations}"

    def _repr_html_(self) -> str:
        from armillary.program.documents import model_html

        return model_html(self._core.equations)

    def __reduce__(self) -> tuple[object, ...]:
        return self._core.__reduce__()  # raises an error that names what can be pickled

    # ------------------------------------------------------------ values

    derivatives = core_verb(CompiledModel.derivatives)
    accelerations = core_verb(CompiledModel.accelerations)
    outputs = core_verb(CompiledModel.outputs)
    state = core_verb(CompiledModel.state)

    # ------------------------------------------------------------ runs

    @expanded_signature(SettingOptions)
    def simulate(
        self,
        t_end: float | str,
        *,
        initial: Initial = None,
        parameters: DataMapping | None = None,
        memory: Mapping[str, float] | None = None,
        inputs: object = None,
        progress: bool | Callable[[float], None] = True,
        on_start: OnStart | None = None,
        **settings: Unpack[SettingOptions],
    ) -> Run:
        """Simulate the motion from ``t0`` to ``t_end``. All times are seconds or texts such as "5 s".

        The default ``method`` is "rk4" if a ``step`` is given, and "dop853" if not. For an adaptive method
        ``step`` is the first step that it tries, and ``rtol`` and ``atol`` are the errors that it tolerates;
        methods of fixed step do not use them. ``sample`` is the time between rows, or a list of times. If it
        is left out, fixed steps give a row each and adaptive methods a thousand rows; more than 4 GiB of rows
        are refused. ``progress`` shows a line on a terminal when a run takes long, or calls a function with
        the time reached. ``on_start`` is a function that gets all parameters, initial values and memory by
        name, in their stated units, and may return other initial values. ``inputs`` drive inputs of the model
        over time: points {"name": (t, y)}, an ``arm.Signal``, a function of time, a data frame, a file.

        A run that diverges, or whose events accumulate at an instant, raises a
        SimulationError whose ``run`` holds the data so far; Ctrl-C returns the run so far.
        """
        return self._core.run_with(
            run_settings(Model.simulate, t_end, **settings), parameters=parameters, initial=initial,
            memory=memory, inputs=inputs, progress=progress, on_start=on_start,
        )  # fmt: skip

    # ------------------------------------------------------------ pictures

    @property
    def picture(self) -> MotionPictures:
        """The object that draws motions, for runs that were read from files."""
        return self.equations.picture

    def page(self, run: Run, title: str = "", options: PictureOptions | None = None) -> str:
        """Return the motion of a run as the text of one HTML page; ``run.animate`` writes it to a file."""
        return self.equations.page(run, title, options)

    def scene(self, run: Run, path: Path) -> None:
        """Write the motion of a run as a binary glTF file, for ``run.animate``."""
        self.equations.scene(run, path)

    if TYPE_CHECKING:
        draw = typed_verb(sketch.draw)
        live = typed_verb(live_module.live)
    else:
        draw = LazyVerb("armillary.viewer.sketch")
        live = LazyVerb("armillary.viewer.live")

    def view(
        self,
        *,
        initial: DataMapping | Sequence[float] | None = None,
        parameters: DataMapping | None = None,
        title: str = "",
        view: str = "oblique",
        theme: str | None = None,
        path: str | os.PathLike[str] | None = None,
    ) -> MotionView | Path:
        """Show a page with a slider for each coordinate, on which the user moves the system by hand.

        The page opens in the browser or a notebook, or is written to ``path``, an .html file. Loops are
        closed while a slider is moved.
        """
        from armillary.results.plots.motion import PictureOptions, show_page, write_html
        from armillary.viewer.page import posing_page

        page = posing_page(self._core, initial, parameters, title, PictureOptions(view, theme=theme))
        return show_page(page) if path is None else write_html(page, path)

    # ------------------------------------------------------------ batches, and derivatives of runs

    @expanded_signature(SettingOptions)
    def simulate_batch(
        self,
        t_end: float | str,
        *,
        parameters: Mapping[str, object] | None = None,
        initial: Mapping[str, object] | object = None,
        memory: Mapping[str, object] | None = None,
        inputs: object = None,
        watch: float | str | None = None,
        outputs: Sequence[str] | None = None,
        metrics: Metrics | None = None,
        runs: int | None = None,
        threads: int | None = None,
        device: str = "cpu",
        precision: str = "double",
        progress: bool | Callable[[int], None] = True,
        on_start: None = None,
        **settings: Unpack[SettingOptions],
    ) -> Batch:
        """Simulate many runs at once, from ``t0`` to ``t_end``. All times are seconds or texts such as "5 s".

        ``parameters``, ``initial`` and ``memory`` hold numbers or texts with units, shared by all runs, and
        arrays with a value per run; ``initial`` may also be whole states, a row per run. ``inputs`` drive
        inputs over time, with values of shape (instants,) or (runs, instants). ``metrics`` are computed
        during the runs, by name: "final(x)", "minimum(x)", "maximum(x)", "mean(x)", "rms(x)", "crossing(x,
        level, rising)", "histogram(x, low, high, bins)" of outputs x. They are evaluated at every fixed step,
        or at 1000 intervals of an adaptive method; ``watch`` sets another time between evaluations.
        ``outputs`` names the outputs whose histories are kept, at the times of ``sample``; if it is left out,
        all are kept if there are no metrics, and none otherwise. Steps, methods and tolerances are as in
        ``simulate``; results agree with it to rounding, for any number of runs and ``threads`` (all cores by
        default).

        A run that diverges does not disturb the others: ``batch.status`` has the reason, its metrics are NaN.
        ``device="gpu"`` makes the runs on a CUDA GPU, with ``precision`` "double" or "single".
        """
        from armillary.ensembles.batch import simulate_batch

        if on_start is not None:
            raise ArmillaryError(
                "simulate_batch calls no function of Python at the start of its runs, so it has no "
                "on_start=: give the initial values of all runs as arrays, initial={'name': […]}, or call "
                "simulate(on_start=…) run by run"
            )
        return simulate_batch(
            self._core, run_settings(Model.simulate_batch, t_end, **settings), parameters=parameters,
            initial=initial, memory=memory, inputs=inputs, watch=watch, outputs=outputs, metrics=metrics,
            runs=runs, threads=threads, device=device, precision=precision, progress=progress,
        )  # fmt: skip

    def with_sensitivities(
        self, to: Sequence[object], of: Sequence[str] | None = None, *, ignore_jumps: bool = False
    ) -> SensitiveModel:
        """Return the model with derivatives of its outputs ``to`` parameters and initial values as further
        outputs.

        ``to`` are names of parameters, coordinates, speeds, states or memories, ``of`` names of outputs (if
        left out, coordinates, speeds, states and the outputs of the description). The derivative of output y
        by p is the column d(y)/d(p), in the units of y per unit of p. The model runs like any other, alone or
        in batches. The effects of events are included. Loads that jump where a condition changes are refused,
        unless ``ignore_jumps`` states that no run reaches them.
        """
        core = self._core.with_sensitivities(to, of, ignore_jumps=ignore_jumps)
        return SensitiveModel(core, self.equations._with_core(core.equations))

    def sensitivities(
        self,
        t_end: float | str,
        to: Sequence[object],
        of: Sequence[str] | None = None,
        *,
        ignore_jumps: bool = False,
        **how: Unpack[RunOptions],
    ) -> Sensitivities:
        """Return the derivatives of a run by parameters and initial values, over time; and the run.

        ``to``, ``of`` and ``ignore_jumps`` are as in ``with_sensitivities``, other arguments as in
        ``simulate``. Tolerances hold for the motion and for its change per relative change of a parameter.
        """
        from armillary.analysis.sensitivities import split_derivatives

        made = self.with_sensitivities(to, of, ignore_jumps=ignore_jumps)
        return split_derivatives(made._core, made.simulate(t_end, **how))


class ConvertedModel(Model):
    """Equations as machine code, with variables that the derivation chose in place of the system's speeds.

    A state is [coordinates, converted speeds], where the converted speeds are these variables;
    ``derivatives`` are its rates.
    """

    _core: CompiledConvertedModel

    def _summary(self) -> str:
        return str(self.equations.operations)


class MomentumModel(ConvertedModel):
    """The equations of one system as machine code, in coordinates and momenta.

    A state is [coordinates, momenta]; ``derivatives`` are its rates.
    """

    _core: CompiledMomentumModel

    momentum_names: CoreValue[tuple[str, ...]] = CoreValue("Names of the momenta, in the order of the state.")

    momenta = core_verb(CompiledMomentumModel.momenta)


class RedundantModel(Model):
    """One system's equations in redundant coordinates as machine code.

    A state is [coordinates, speeds, states] in the order of ``coordinate_names``, ``speed_names`` and
    ``state_names``: absolute coordinates, joint coordinates, absolute speeds, then the user's own states.
    ``state(initial)`` makes a state from the joints' values. Accelerations and multipliers may follow the
    state, as at the end of a run.
    """

    _core: CompiledRedundantModel

    joint_accelerations = core_verb(CompiledRedundantModel.joint_accelerations)
    total_mass = core_verb(CompiledRedundantModel.total_mass)
    dependent_constraints = core_verb(CompiledRedundantModel.dependent_constraints)

    @expanded_signature(SettingOptions)
    def simulate(
        self,
        t_end: float | str,
        *,
        epsilon: float | None = None,
        passes: int = 1,
        translation: str = "implicit",
        initial: Initial = None,
        parameters: DataMapping | None = None,
        memory: Mapping[str, float] | None = None,
        inputs: object = None,
        progress: bool | Callable[[float], None] = True,
        on_start: OnStart | None = None,
        **settings: Unpack[SettingOptions],
    ) -> Run:
        """Simulate the motion from ``t0`` to ``t_end`` with steps of one size.

        ``initial`` holds values of the joints' coordinates and speeds. Method "staggered", the default, is by
        Park and Chiou: ``epsilon`` is their ε (constraints slip by ε times their multiplier; by default 1e-10
        over the total mass), ``passes`` the number of corrector passes (0: first order), ``translation``
        "explicit" (central differences) or "implicit" (mid-point rule). Method "projected" is rk4 with a
        projection onto all constraints after each step. Sampling, events, memory and errors are as in other
        models. Like other methods of fixed step, neither method uses ``rtol``, ``atol`` or ``max_step``.
        """
        return self._core.run_with(
            run_settings(RedundantModel.simulate, t_end, **settings), parameters=parameters,
            initial=initial, memory=memory, inputs=inputs, epsilon=epsilon, passes=passes,
            translation=translation, progress=progress, on_start=on_start,
        )  # fmt: skip

    def _summary(self) -> str:
        return str(self.equations.operations)


class SensitiveModel(Model):
    """One system's equations and their derivatives as machine code."""

    _core: CompiledSensitiveModel

    directions: CoreValue[tuple[str, ...]] = CoreValue(
        "Names of the parameters and initial values by which the motion is differentiated."
    )

    def _summary(self) -> str:
        return f"to {', '.join(self.directions)}"


# The stage class for each compiled class; a subclass that is not listed has the stage class of its nearest
# base.
MODELS: dict[type[CompiledModel], type[Model]] = {
    CompiledModel: Model,
    CompiledConvertedModel: ConvertedModel,
    CompiledMomentumModel: MomentumModel,
    CompiledRedundantModel: RedundantModel,
    CompiledSensitiveModel: SensitiveModel,
}


def model_stage(core: CompiledModel, equations: Equations) -> Model:
    """Return the stage of a compiled model."""
    return next(MODELS[kind] for kind in type(core).__mro__ if kind in MODELS)(core, equations)
