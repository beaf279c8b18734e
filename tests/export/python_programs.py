"""Exported Python, imported from its folder."""

from __future__ import annotations

from functools import cache

from tests.loading import loaded

load = cache(loaded)
