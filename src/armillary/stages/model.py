"""The compiled models that users hold, with the analyses and batches of runs that are made with them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from armillary.errors import ArmillaryError
from armillary.runtime.models import compiled, state_conversion
from armillary.runtime.models import redundant as redundant_models
from armillary.runtime.models import sensitivities as sensitive_models
from armillary.settings import SettingOptions, expanded_signature, run_settings
from armillary.stages.control import ModelControl
from armillary.stages.other_stages import OtherStages
from armillary.stages.pictures import ModelPictures
from armillary.stages.pieces import ModelPieces

if TYPE_CHECKING:
    from typing import Unpack

    from armillary.analysis.identification.regressor import Regressor
    from armillary.analysis.inverse.inverse import Efforts
    from armillary.analysis.kinematics.result import Solutions, Sweep
    from armillary.analysis.kinematics.sweep import Workspace
    from armillary.analysis.linear.linear_model import LinearModel
    from armillary.analysis.modes.undamped_modes import UndampedModes
    from armillary.analysis.operating.branch import Branch
    from armillary.analysis.operating.point import OperatingPoint
    from armillary.analysis.sensitivities import Sensitivities
    from armillary.ensembles.metrics import Metrics
    from armillary.ensembles.result import Batch
    from armillary.settings import Initial, RunOptions
    from armillary.stages.equations import (
        Equations,
        FreeSpeedEquations,
        MomentumEquations,
        RedundantEquations,
        SensitiveEquations,
    )


class Model(OtherStages, ModelPieces, ModelControl, ModelPictures, compiled.CompiledModel):
    """One system's equations as machine code, freed with this object."""

    _stage = "Model"

    equations: Equations

    def _repr_html_(self) -> str:
        from armillary.program.print.documents import model_html

        return model_html(self.equations)

    def live(
        self,
        path: str | os.PathLike[str],
        *,
        sliders: object = None,
        inputs: object = None,
        plots: Sequence[str] | None = None,
        parameters: Mapping[str, object] | None = None,
        initial: Initial = None,
        memory: Mapping[str, float] | None = None,
        method: str | None = None,
        step: float | str | None = None,
        grab: bool | None = None,
        title: str = "",
    ) -> Path:
        """A page in which the model itself runs, compiled to WebAssembly: one HTML file, no network.

        ``sliders`` change parameters, initial values and inputs while it runs, ``inputs`` are moved by keys
        and a gamepad too: names, or (name, lowest, highest) in their units; left out, the page chooses some.
        ``plots`` are outputs that it shows at first. ``method`` and ``step`` are as in ``simulate``; left
        out, the method is "rk4" with a step and "dopri5" without one. With ``grab`` (left out: where the
        system allows it) bodies are pulled with the pointer.
        """
        from armillary.viewer.live import write_live

        return write_live(
            self, path, sliders=sliders, inputs=inputs, plots=plots, parameters=parameters, initial=initial,
            memory=memory, method=method, step=step, grab=grab, title=title,
        )  # fmt: skip

    def with_sensitivities(
        self, to: Sequence[object], of: Sequence[str] | None = None, *, ignore_jumps: bool = False
    ) -> SensitiveModel:
        """The model with derivatives of its outputs ``to`` parameters and initial values as further outputs.

        ``to`` are names of parameters, coordinates, speeds, states or memories, ``of`` names of outputs (left
        out: coordinates, speeds, states and the outputs of the description). The derivative of output y by p
        is the column d(y)/d(p), in the units of y per unit of p. It runs like any other model, alone or in
        batches. Jumps of loads where a condition changes are not part of this and are refused, unless
        ``ignore_jumps`` states that no run comes there; what events do is.
        """
        return cast("SensitiveModel", super().with_sensitivities(to, of, ignore_jumps=ignore_jumps))

    def sensitivities(
        self,
        t_end: float | str,
        to: Sequence[object],
        of: Sequence[str] | None = None,
        *,
        ignore_jumps: bool = False,
        **how: Unpack[RunOptions],
    ) -> Sensitivities:
        """The derivatives of a run by parameters and initial values, over time; and the run.

        ``to``, ``of`` and ``ignore_jumps`` are as in ``with_sensitivities``, other arguments as in
        ``simulate``. Tolerances hold for the motion and for its change per relative change of a parameter.
        """
        from armillary.analysis.sensitivities import sensitivities

        return sensitivities(self, t_end, to, of, ignore_jumps, **how)

    def inverse(
        self,
        q: object,
        u: object = None,
        udot: object = None,
        parameters: Mapping[str, object] | None = None,
        *,
        t: object = 0.0,
        memory: object = None,
        states: object = None,
        actuators: Sequence[str] | None = None,
        reactions: Sequence[str] = (),
    ) -> Efforts:
        """The efforts that give the speeds u the rates ``udot`` at coordinates q, besides all loads.

        ``q``, ``u`` and ``udot`` are numbers in the order of ``coordinate_names`` and ``speed_names``, in the
        model's own units, or values by name in stated units; left out, speeds and rates are zero. Arrays with
        leading axes are many places, and so are arrays of ``t`` and ``parameters``. Efforts are by the
        names of speeds: forces along translations, moments about rotations; those along prescribed and
        locked speeds are among them. Under constraints they act along the independent speeds.

        In place of ``q`` a run may be given; ``udot`` then are the rates that the model has there, or with
        "spline" slopes of the run's speeds. ``actuators`` names speeds, loads, inputs or parameters whose
        strengths are wanted in place of efforts along the independent speeds: with more actuators than
        freedoms the efforts of least norm. ``reactions`` names bodies, for the wrench through their joints,
        and constraints.
        """
        from armillary.analysis.inverse.inverse import inverse

        return inverse(
            self, q, u, udot, parameters, t=t, memory=memory, states=states, actuators=actuators,
            reactions=reactions,
        )  # fmt: skip

    def sweep(
        self,
        driven: Mapping[str, object],
        outputs: Sequence[str] | None = None,
        *,
        speeds: Mapping[str, object] | None = None,
        accelerations: Mapping[str, object] | None = None,
        derivatives: bool = False,
        static: bool = False,
        reactions: Sequence[str] = (),
        grid: bool = False,
        held: Sequence[str] | None = None,
        start: Initial = None,
        parameters: Mapping[str, object] | None = None,
        time: float | str = 0.0,
    ) -> Sweep:
        """Positions of the mechanism along a path, without its dynamics: loops closed, constraints kept.

        ``driven`` has values of coordinates, of outputs of positions, or of "time": numbers, or arrays of one
        length along a path, or with ``grid`` arrays of all combinations; in the units of the column, or as
        pairs (values, units). ``outputs`` are by default the outputs of the description. ``speeds`` and
        ``accelerations`` of driven quantities give rates in time of all outputs, as columns d(y)/dt and
        d²(y)/dt²; ``derivatives`` gives derivatives by the driven quantities. Coordinates that nothing drives
        are held where they start: the ones in ``held``, else the ones that the driven quantities move least.
        With ``static`` they find the equilibrium of all loads at rest, and the efforts that hold the
        driven quantities are further outputs; ``reactions`` of bodies (force and moment of their joint on
        them, in their axes) and constraints are columns then, too. ``start`` has initial values, as for
        ``simulate``; they decide in what way loops are closed.
        """
        from armillary.analysis.kinematics.sweep import sweep

        return sweep(
            self, driven, outputs, speeds=speeds, accelerations=accelerations, derivatives=derivatives,
            static=static, reactions=reactions, grid=grid, held=held, start=start, parameters=parameters,
            time=time,
        )  # fmt: skip

    def linearize(
        self,
        at: object = None,
        inputs: Sequence[str] = (),
        outputs: Sequence[str] = (),
        parameters: Mapping[str, object] | None = None,
    ) -> LinearModel:
        """The linear model of small changes about an operating point: exact A, B, C and D.

        ``at`` is None for the start of runs, values by name, a state, an operating point or (run, time); a
        list of these or arrays of values give many, with a leading axis. ``inputs`` are names of parameters,
        inputs and memories, ``outputs`` names of outputs. States are the independent ones: loops stay closed,
        Euler parameters become three rotations, memories are held.
        """
        from armillary.analysis.linear.linearize import linearize

        return linearize(self, at, inputs, outputs, parameters)

    def undamped_modes(
        self, at: object = None, *, parameters: Mapping[str, object] | None = None
    ) -> UndampedModes:
        """Undamped modes at rest from mass matrix and stiffness: ω² M φ = K φ.

        ``at`` is an equilibrium, as for ``linearize``. Loads that depend on the speeds are left out; all of
        them count in ``linearize(…).modes()``.
        """
        from armillary.analysis.modes.undamped_modes import undamped_modes

        return undamped_modes(self, at, parameters)

    # ------------------------------------------------------------ operating points

    def trim(
        self,
        fixed: Mapping[str, object] | None = None,
        free: Sequence[str] | None = None,
        rates: Mapping[str, object] | None = None,
        *,
        inputs: Sequence[str] | Mapping[str, object] = (),
        outputs: Mapping[str, object] | None = None,
        parameters: Mapping[str, object] | None = None,
        bounds: Mapping[str, object] | None = None,
        starts: object = None,
        settle: bool = False,
        memory: Mapping[str, object] | None = None,
        t: float | str = 0.0,
    ) -> OperatingPoint:
        """A steady motion: a state whose rates are given, zero where they are not, and the inputs that hold
        it.

        ``fixed`` are values of states, ``free`` the states to find (left out: all that are not fixed),
        ``rates`` the rates of states other than zero (None: any rate), ``inputs`` the parameters or inputs to
        find, ``outputs`` values of outputs that must be met, ``bounds`` pairs (low, high) by name. Cyclic
        coordinates, which no rate depends on, stay at their start, and their rates are conditions only if
        given. ``starts`` are values by name from which to start; a list of these, or a number of scattered
        starts, may give several ``solutions``. With ``settle`` the search begins where a heavily damped
        motion of the coordinates from the start comes to rest, which is near a stable point in most cases;
        ``stable`` of the result is true or false. Loops are closed and Euler parameters unit there.
        """
        from armillary.analysis.operating.trim import trim

        return trim(
            self, fixed=fixed, free=free, rates=rates, inputs=inputs, outputs=outputs, parameters=parameters,
            bounds=bounds, starts=starts, settle=settle, memory=memory, t=t,
        )  # fmt: skip

    def equilibrium(
        self,
        fixed: Mapping[str, object] | None = None,
        free: Sequence[str] | None = None,
        *,
        inputs: Sequence[str] | Mapping[str, object] = (),
        outputs: Mapping[str, object] | None = None,
        parameters: Mapping[str, object] | None = None,
        bounds: Mapping[str, object] | None = None,
        starts: object = None,
        settle: bool = False,
        memory: Mapping[str, object] | None = None,
        t: float | str = 0.0,
    ) -> OperatingPoint:
        """Find a state of rest: all rates are zero, also of cyclic coordinates; otherwise as ``trim``."""
        from armillary.analysis.operating.trim import trim

        return trim(
            self, at_rest=True, settle=settle, fixed=fixed, free=free, inputs=inputs, outputs=outputs,
            parameters=parameters, bounds=bounds, starts=starts, memory=memory, t=t,
        )  # fmt: skip

    def trace(
        self, op: OperatingPoint, name: str, start: object, stop: object, *, points: int = 1000
    ) -> Branch:
        """The branch of operating points through one of them, along ``name`` from ``start`` to ``stop``.

        ``name`` is a parameter or input, or a state that ``op`` has fixed, or one of its prescribed outputs
        or rates. The branch is followed through folds, where ``name`` turns back, and has marks there, where
        eigenvalues cross the imaginary axis (Hopf points) and where another branch crosses; it ends where
        ``name`` leaves its range, or after ``points`` points in each direction.
        """
        from armillary.analysis.operating.branch import trace

        return trace(self, op, name, start, stop, points=points)

    @property
    def picture(self) -> Equations:
        """The object that draws the motions of this model: its equations, without the machine code."""
        return self.equations

    def regressor(
        self,
        q: object,
        u: object = None,
        udot: object = None,
        parameters: Mapping[str, object] | None = None,
        *,
        t: object = 0.0,
        memory: object = None,
        states: object = None,
    ) -> Regressor:
        """Efforts at places of a motion as linear functions of the base parameters, e = Y π + e₀.

        The places are given as for ``inverse``; ``parameters`` are parameters of geometry and loads.
        """
        from armillary.analysis.identification.regressor import regressor

        return regressor(self, q, u, udot, parameters, t=t, memory=memory, states=states)

    def solve(
        self,
        outputs: Mapping[str, object],
        *,
        limits: Mapping[str, object] | None = None,
        held: Sequence[str] | None = None,
        start: Initial = None,
        starts: int = 20,
        shown: Sequence[str] | None = None,
        parameters: Mapping[str, object] | None = None,
        time: float | str = 0.0,
    ) -> Solutions:
        """Inverse kinematics: positions at which ``outputs`` of positions, or coordinates, have given values.

        Numbers give all different solutions that are found from this number of ``starts``: the position of
        ``start``, as for ``simulate``, and others around it. With more freedoms than outputs one solution is
        given. Arrays of one length are a path, with a solution for each row that follows from the one before.
        ``limits`` are pairs (low, high) of coordinates or outputs, ``held`` names coordinates that stay,
        ``shown`` further outputs. An error names the outputs that cannot be reached and the nearest values.
        """
        from armillary.analysis.kinematics.solve import solve

        return solve(
            self, outputs, limits=limits, held=held, start=start, starts=starts, shown=shown,
            parameters=parameters, time=time,
        )  # fmt: skip

    def workspace(
        self,
        ranges: Mapping[str, object],
        outputs: Sequence[str],
        *,
        points: int = 41,
        start: Initial = None,
        parameters: Mapping[str, object] | None = None,
        time: float | str = 0.0,
    ) -> Workspace:
        """Outputs that are reached over ranges (low, high) of coordinates, and where they end.

        ``points`` values of each range are combined; between them the singular positions are found at which
        the outputs, as many as there are ranges, cannot move in every direction.
        """
        from armillary.analysis.kinematics.sweep import workspace

        return workspace(self, ranges, outputs, points=points, start=start, parameters=parameters, time=time)

    # ------------------------------------------------------------ batches

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
        """Many runs from ``t0`` to ``t_end`` at once, in seconds or text such as "5 s", as all times here.

        ``parameters``, ``initial`` and ``memory`` hold numbers or texts with units, shared by all runs, and
        arrays of them, one per run; ``initial`` may also be whole states, a row per run. ``inputs`` drive
        inputs over time, with values of shape (instants,) or (runs, instants). ``metrics`` are reduced on the
        fly, by name: "final(x)", "minimum(x)", "maximum(x)", "mean(x)", "rms(x)", "crossing(x, level,
        rising)", "histogram(x, low, high, bins)" of outputs x. They see every fixed step, or 1000 intervals
        of an adaptive method; ``watch`` is another time between two looks. ``outputs`` are those whose
        histories are kept, at the times of ``sample``: all where no metrics are requested, else none unless
        named. Steps, methods and tolerances are as in ``simulate``, and so are the numbers, to rounding, for
        any number of runs and ``threads`` (all cores by default).

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
            self, run_settings(Model.simulate_batch, t_end, **settings), parameters=parameters,
            initial=initial, memory=memory, inputs=inputs, watch=watch, outputs=outputs, metrics=metrics,
            runs=runs, threads=threads, device=device, precision=precision, progress=progress,
        )  # fmt: skip


class ConvertedModel(Model, state_conversion.CompiledConvertedModel):
    """One system's equations as machine code; a state is [coordinates, what the speeds are converted to], and
    ``derivatives`` are their rates.
    """

    equations: FreeSpeedEquations


class MomentumModel(Model, state_conversion.CompiledMomentumModel):
    """One system's equations as machine code; a state is [coordinates, momenta], and ``derivatives`` are
    their rates.
    """

    equations: MomentumEquations


class RedundantModel(Model, redundant_models.CompiledRedundantModel):
    """One system's equations in redundant coordinates as machine code.

    A state is [coordinates, speeds, states] by the names of ``coordinate_names``, ``speed_names`` and
    ``state_names``: absolute coordinates, joint coordinates, absolute speeds, then the user's own states.
    ``state(initial)`` makes one from the joints' values; accelerations and multipliers may follow, as runs
    hand them on.
    """

    equations: RedundantEquations


class SensitiveModel(Model, sensitive_models.CompiledSensitiveModel):
    """One system's equations and their derivatives as machine code."""

    equations: SensitiveEquations


MODELS = (Model, ConvertedModel, MomentumModel, RedundantModel, SensitiveModel)
