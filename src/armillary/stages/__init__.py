"""The objects that users hold, with the verbs that lead from one stage to the next.

A package imports only from earlier packages, so a description has no method that derives it, and derived
equations have none that compiles them. The classes of this package have these methods (verbs). ``System``
(``system.py``) is a description. ``Equations`` (``equations.py``) holds derived equations and ``Model``
(``model.py``) a compiled model, each in its field ``_core``, which the verbs pass to functions of the earlier
packages. Functions that take a model from the user get its core by ``core_of``.
"""

from armillary.stages.system import System, load

__all__ = ["System", "load"]
