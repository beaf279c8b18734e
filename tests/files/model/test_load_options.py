"""The help of arm.load lists the options of all importers."""

from __future__ import annotations

import inspect
import re

import armillary as arm
from armillary.files.model.load import load_ssp, load_text
from armillary.files.robots import load_mjcf, load_urdf


def test_the_help_of_load_lists_the_options_of_all_importers_and_no_others() -> None:
    readers = (load_text, load_urdf, load_mjcf, load_ssp)
    taken = {name for reader in readers for name in [*inspect.signature(reader).parameters][2:]}
    listed = re.findall(r"^(\w+) +\S", inspect.getdoc(arm.load).partition("in parentheses.\n\n")[2], re.M)
    assert sorted(listed) == sorted(taken)
