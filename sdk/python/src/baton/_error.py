"""The base of every error that the SDK raises by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar


class BatonError(Exception):
    """Something was refused, or did not work.

    Attributes:
        code: A stable word such as `state.version_conflict`; `docs/errors.md` lists all of them.
        kind: How to react: `invalid`, `denied`, `not_found`, `conflict`, `stale`, `too_large`,
            `exhausted` or `unavailable`. There is one subclass for each.
        detail: A description of the error, as a sentence.
        hint: The next step, as a sentence.
        facts: What else the server reported, such as the winning `entry` of a conflict.
    """

    kind: ClassVar[str] = "unavailable"

    code: str
    detail: str
    hint: str
    facts: dict[str, Any]

    def __init__(
        self, code: str, detail: str, hint: str = "", facts: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(code, detail, hint)
        self.code = code
        self.detail = detail
        self.hint = hint
        self.facts = dict(facts or {})

    def __str__(self) -> str:
        text = f"{self.detail} [{self.code}]"
        return f"{text}; {self.hint}" if self.hint else text

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.code, self.detail, self.hint, self.facts)

    @property
    def is_unknown(self) -> bool:
        """Whether the request may have been carried out although it failed."""
        return self.code in ("client.unknown_outcome", "engine.unknown_outcome")


def _restored(
    kind: type[BatonError], code: str, detail: str, hint: str, facts: dict[str, Any]
) -> BatonError:
    error = kind.__new__(kind)
    BatonError.__init__(error, code, detail, hint, facts)
    return error
