"""A model made ready for kinematics: its mechanisms, kept with it, and its positions as starts."""

from __future__ import annotations

from collections.abc import Sequence

from armillary.algebra.arguments import several
from armillary.analysis.kinematics.mechanism.kinematics import KinematicQuantity, Kinematics
from armillary.analysis.kinematics.mechanism.mechanism import Mechanism
from armillary.kept_results import kept_per_object
from armillary.program.derive import derive
from armillary.runtime.models.compiled import CompiledModel


def joint_model(model: CompiledModel) -> CompiledModel:
    """The model itself, or one whose coordinates are those of the joints."""
    base = model.base
    if base.equations.joints_move_bodies:
        return base
    return base.compiler(derive(base.equations.system, "kane"))


@kept_per_object
def kinematics_of(model: CompiledModel) -> Kinematics:
    """The kinematics of a model, made at its first use."""
    return Kinematics(model.equations)


def mechanism_of(
    kinematics: Kinematics,
    driven: Sequence[KinematicQuantity],
    shown: Sequence[KinematicQuantity],
    limited: Sequence[KinematicQuantity] = (),
    *,
    static: bool = False,
) -> Mechanism:
    """A mechanism with these quantities, compiled at its first use."""
    key = (*(tuple(x.name for x in group) for group in (driven, shown, limited)), static)
    if key not in kinematics.mechanisms:
        kinematics.mechanisms[key] = Mechanism(kinematics, driven, shown, limited=limited, static=static)
    found = kinematics.mechanisms[key]
    assert isinstance(found, Mechanism)
    return found


def shown_quantities(
    kinematics: Kinematics, driven: Sequence[str], outputs: Sequence[str] | None
) -> list[KinematicQuantity]:
    """Outputs that are requested, else those of the description, then all coordinates that are not driven."""
    own = [n for n in kinematics.system.outputs if n in kinematics.quantities]
    asked = own if outputs is None else list(dict.fromkeys(map(str, several(outputs, "outputs="))))
    found = [n for n in asked if n not in driven]
    names = [*found, *(q for q in kinematics.coordinates if q not in {*found, *driven})]
    return [kinematics.quantity(name, "outputs=") for name in names]
