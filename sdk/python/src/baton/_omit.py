"""The default of arguments for which `None` is a value of its own: JSON `null`."""

from __future__ import annotations

from enum import Enum
from typing import Final


class Omit(Enum):
    """An argument that was not given."""

    OMIT = "OMIT"

    def __repr__(self) -> str:
        return "OMIT"


OMIT: Final = Omit.OMIT
