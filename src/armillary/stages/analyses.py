"""The verbs of models that analyse them: kinematics, efforts, operating points, linear models.

The verbs of models that evaluate the equations of motion in pieces, M u̇ = f.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, cast

from armillary.untyped import DataMapping, Given

if TYPE_CHECKING:
    import numpy as np

    from armillary.analysis.efforts import Efforts
    from armillary.analysis.identification.excitation import Regressor
    from armillary.analysis.kinematics.result import Solutions, Sweep
    from armillary.analysis.kinematics.sweep import Workspace
    from armillary.analysis.linear.linear_model import LinearModel
    from armillary.analysis.modes.undamped_modes import UndampedModes
    from armillary.analysis.operating.branch import Branch
    from armillary.analysis.operating.point import OperatingPoint
    from armillary.analysis.places import PieceFunctions
    from armillary.model.bodies.body import Body, Point
    from armillary.runtime.models.compiled import CompiledModel
    from armillary.settings import Initial
    from armillary.stages.equations import Equations


class ModelAnalyses:
    """Analyses of a model."""

    _core: CompiledModel

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
        """Return the efforts that give the speeds u the rates ``udot`` at coordinates q, besides all loads.

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
        from armillary.analysis.efforts import inverse

        return inverse(
            self._core, q, u, udot, parameters, t=t, memory=memory, states=states, actuators=actuators,
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
            self._core, driven, outputs, speeds=speeds, accelerations=accelerations, derivatives=derivatives,
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
        """Return the linear model of small changes about an operating point: exact A, B, C and D.

        ``at`` is None for the start of runs, values by name, a state, an operating point or (run, time); a
        list of these or arrays of values give many, with a leading axis. ``inputs`` are names of parameters,
        inputs and memories, ``outputs`` names of outputs. States are the independent ones: loops stay closed,
        Euler parameters become three rotations, memories are held.
        """
        from armillary.analysis.linear.linearize import linearize

        return linearize(self._core, at, inputs, outputs, parameters)

    def undamped_modes(
        self, at: object = None, *, parameters: Mapping[str, object] | None = None
    ) -> UndampedModes:
        """Undamped modes at rest from mass matrix and stiffness: ω² M φ = K φ.

        ``at`` is an equilibrium, as for ``linearize``. Loads that depend on the speeds are left out; all of
        them count in ``linearize(…).modes()``.
        """
        from armillary.analysis.modes.undamped_modes import undamped_modes

        return undamped_modes(self._core, at, parameters)

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
        """Return a steady motion: a state whose rates are given, zero where they are not, and the inputs that
        hold it.

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
            self._core, fixed=fixed, free=free, rates=rates, inputs=inputs, outputs=outputs,
            parameters=parameters, bounds=bounds, starts=starts, settle=settle, memory=memory, t=t,
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
            self._core, at_rest=True, settle=settle, fixed=fixed, free=free, inputs=inputs, outputs=outputs,
            parameters=parameters, bounds=bounds, starts=starts, memory=memory, t=t,
        )  # fmt: skip

    def trace(
        self, op: OperatingPoint, name: str, start: object, stop: object, *, points: int = 1000
    ) -> Branch:
        """Return the branch of operating points through one of them, along ``name`` from ``start`` to
        ``stop``.

        ``name`` is a parameter or input, or a state that ``op`` has fixed, or one of its prescribed outputs
        or rates. The branch is followed through folds, where ``name`` turns back, and has marks there, where
        eigenvalues cross the imaginary axis (Hopf points) and where another branch crosses; it ends where
        ``name`` leaves its range, or after ``points`` points in each direction.
        """
        from armillary.analysis.operating.branch import trace

        return trace(self._core, op, name, start, stop, points=points)

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
        from armillary.analysis.identification.excitation import regressor

        return regressor(self._core, q, u, udot, parameters, t=t, memory=memory, states=states)

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
            self._core, outputs, limits=limits, held=held, start=start, starts=starts, shown=shown,
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

        return workspace(
            self._core, ranges, outputs, points=points, start=start, parameters=parameters, time=time
        )


Parameters = DataMapping | None  # values by name, of one place or of each row
Array = object  # numbers, or values by name: of one place, or with a leading axis of many


class ModelPieces:
    """Pieces of a model's equations as compiled functions.

    All take one place or rows of them: t, coordinates q and independent speeds u in the order of the pieces
    (``model.equations.mass_matrix.rows``), in the model's own units, or values by name in stated units;
    ``parameters`` may be arrays. Memory and ``states`` of the user's own that are left out have their initial
    values.
    """

    _core: CompiledModel
    equations: Equations

    @cached_property
    def _piece_functions(self) -> PieceFunctions:
        from armillary.analysis.places import PieceFunctions

        return PieceFunctions(self._core, self.equations._pieces)

    def _matrix(self, name: str, *place: Given) -> np.ndarray:
        from armillary.analysis.places import PiecePlace

        return self._piece_functions.matrix(name, PiecePlace(*place))

    def _quantity(self, name: str, *place: Given) -> Given:
        from armillary.analysis.places import PiecePlace

        return self._piece_functions.quantity(name, PiecePlace(*place))

    def mass_matrix(
        self, t: Array, q: Array, parameters: Parameters = None, *, memory: Array = None, states: Array = None
    ) -> np.ndarray:
        """M of M u̇ = f."""
        return self._matrix("mass_matrix", t, q, None, parameters, memory, states)

    def forcing(
        self, t: Array, q: Array, u: Array, parameters: Parameters = None, *, memory: Array = None,
        states: Array = None,
    ) -> np.ndarray:  # fmt: skip
        """f of M u̇ = f."""
        return self._matrix("forcing", t, q, u, parameters, memory, states)

    def coriolis(
        self, t: Array, q: Array, u: Array, parameters: Parameters = None, *, memory: Array = None,
        states: Array = None,
    ) -> np.ndarray:  # fmt: skip
        """c of M u̇ + c = Q: terms of velocities, and of given accelerations."""
        return self._matrix("coriolis", t, q, u, parameters, memory, states)

    def coriolis_matrix(self, t: Array, q: Array, u: Array, parameters: Parameters = None) -> np.ndarray:
        """C with C u = c; see ``Equations.coriolis_matrix``."""
        return self._matrix("coriolis_matrix", t, q, u, parameters)

    def gravity_forces(
        self, t: Array, q: Array, parameters: Parameters = None, *, memory: Array = None, states: Array = None
    ) -> np.ndarray:
        """Generalised forces of gravity that acts uniformly on all bodies."""
        return self._matrix("gravity_forces", t, q, None, parameters, memory, states)

    def elastic_forces(
        self, t: Array, q: Array, u: Array, parameters: Parameters = None, *, memory: Array = None,
        states: Array = None,
    ) -> np.ndarray:  # fmt: skip
        """Generalised forces of stiffness and damping of flexible bodies."""
        return self._matrix("elastic_forces", t, q, u, parameters, memory, states)

    def load_forces(
        self, t: Array, q: Array, u: Array, parameters: Parameters = None, *, memory: Array = None,
        states: Array = None,
    ) -> dict[str, np.ndarray]:  # fmt: skip
        """Generalised forces of each load by its name."""
        from armillary.analysis.places import PiecePlace

        return self._piece_functions.loads(PiecePlace(t, q, u, parameters, memory, states))

    def input_map(
        self, t: Array, q: Array, u: Array = None, parameters: Parameters = None, *, memory: Array = None,
        states: Array = None,
    ) -> np.ndarray:  # fmt: skip
        """B of f = f₀ + B w for the declared inputs w."""
        return self._matrix("input_map", t, q, u, parameters, memory, states)

    def jacobian(
        self, of: Point | Body | str, t: Array, q: Array, parameters: Parameters = None, *,
        axes: Body | str | None = None,
    ) -> np.ndarray:  # fmt: skip
        """Return the Jacobian of a point or body by the independent speeds; see ``Equations.jacobian``."""
        from armillary.analysis.places import PiecePlace

        return self._piece_functions.jacobian(of, axes, PiecePlace(t, q, None, parameters))

    def kinetic_energy(self, t: Array, q: Array, u: Array, parameters: Parameters = None) -> Given:
        """Kinetic energy of all bodies."""
        return self._quantity("kinetic_energy", t, q, u, parameters)

    def potential_energy(self, t: Array, q: Array, parameters: Parameters = None) -> Given:
        """Potential energy of gravity."""
        return self._quantity("potential_energy", t, q, None, parameters)

    def strain_energy(self, t: Array, q: Array, parameters: Parameters = None) -> Given:
        """Strain energy of flexible bodies."""
        return self._quantity("strain_energy", t, q, None, parameters)

    def total_energy(self, t: Array, q: Array, u: Array, parameters: Parameters = None) -> Given:
        """Return the sum of kinetic, potential and strain energy."""
        return self._quantity("total_energy", t, q, u, parameters)

    def momentum(self, t: Array, q: Array, u: Array, parameters: Parameters = None) -> np.ndarray:
        """Linear momentum, along the ground's axes."""
        return cast("np.ndarray", self._quantity("momentum", t, q, u, parameters))

    def angular_momentum(self, t: Array, q: Array, u: Array, parameters: Parameters = None) -> np.ndarray:
        """Angular momentum about the ground's origin, along the ground's axes."""
        return cast("np.ndarray", self._quantity("angular_momentum", t, q, u, parameters))

    def mass_centre(self, t: Array, q: Array, parameters: Parameters = None) -> np.ndarray:
        """Place of the mass centre of all bodies, along the ground's axes."""
        return cast("np.ndarray", self._quantity("mass_centre", t, q, None, parameters))
