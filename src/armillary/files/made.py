"""The class of system that a reader of files makes: the one that users hold, with all its verbs."""

from typing import TypeVar

from armillary.model.system import System

Made = TypeVar("Made", bound=System)
