"""The solver of contacts for a GPU: that of the C program, of both precisions, each function on its own."""

from __future__ import annotations

import re
from collections.abc import Sequence

from armillary.export.c.contacts import contact_code
from armillary.export.cuda.device import in_both_precisions, on_device
from armillary.export.text.contacts import ContactSource

# Put in where they are called, they would be compiled for as many places as there are sections.
_SEPARATE = """\
#ifdef __CUDACC__
#define SEPARATE __noinline__
#else
#define SEPARATE
#endif
"""


def device_contacts(sources: Sequence[ContactSource], stem: str) -> str:
    """The functions that sections call, with all that they need."""
    if not sources:
        return ""
    code = on_device(in_both_precisions(contact_code(sources, stem)))
    return _SEPARATE + re.sub(r"^DEVICE static (?=(?:void|int|real) \w+\()", "DEVICE static SEPARATE ", code, flags=re.M)
