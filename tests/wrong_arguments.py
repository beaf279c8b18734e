"""Wrong arguments of public calls, with the sentences that refuse them."""

from __future__ import annotations

from typing import Any

import numpy as np

WRONG: dict[str, Any] = {
    "None": None,
    "a list": [1],
    "a table": {3: "x"},
    "an object": object(),
    "text": "text",
    "a fraction": 1.5,
    "NaN": float("nan"),
    "a huge number": 10**400,
    "minus one": -1,
    "a complex number": 1j,
    "bytes": b"b",
    "a function": lambda x: x,
    "an array": np.array([1.0, 2.0]),
    "an array of texts": np.array(["a"]),
}
