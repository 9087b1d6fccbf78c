"""Hand-offs: offers as an iterator, and rules that are Python functions.

A rule that is data is kept by the server and applies to every client: `rules.add`. A rule that is a
function applies to the hand-offs that are offered through the client it was added to. It is called
before the offer is sent, and is treated like any other rule: an error blocks the hand-off, a
warning does not, and a rule that raises blocks it whatever its severity.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from . import types
from ._async_calls import HandoffsCalls as AsyncHandoffsCalls
from ._async_calls import RulesCalls as AsyncRulesCalls
from ._calls import HandoffsCalls, RulesCalls
from ._flow import waits
from ._job import AsyncJob, Job
from ._lease import milliseconds
from ._operation import Operation
from ._operations import OPERATIONS
from .errors import Conflict, Invalid

if TYPE_CHECKING:
    from ._async_baton import AsyncBaton
    from ._baton import Baton

_PROPOSING = (
    "handoff.offer",
    "handoff.import_context",
    "handoff.execute",
    "handoff.execute_all",
    "handoff.validate",
)


@dataclass(frozen=True)
class Proposal:
    """A hand-off that is about to be offered."""

    giver: str
    fields: Mapping[str, Any]
    """The fields of the offer, as they will be sent."""

    @property
    def to(self) -> Any:
        """The agent that shall receive it, or `{"capability": …}`."""
        return self.fields["to"]

    @property
    def task(self) -> str | None:
        """The task that is handed over, if any."""
        return self.fields.get("task")

    @property
    def state(self) -> Mapping[str, Any]:
        """The values that are handed over, by name."""
        return self._content.get("state") or {}

    @property
    def reason(self) -> str | None:
        """Why it is handed over."""
        return self._content.get("reason")

    @property
    def _content(self) -> Mapping[str, Any]:
        """The fields with the content: those of an imported context, if there is one."""
        return self.fields.get("context") or self.fields

    @property
    def notes(self) -> Any:
        """Further notes for the receiver."""
        return self.fields.get("notes")


Verdict = str | bool | None
Callback = Callable[[Proposal], Verdict | Awaitable[Verdict]]
C = TypeVar("C", bound=Callable[..., Any])


@dataclass
class _Rule:
    name: str
    severity: Literal["error", "warning"]
    giver: str
    to: str
    callback: Callback

    def applies(self, proposal: Proposal) -> bool:
        to = proposal.to if isinstance(proposal.to, str) else ""
        return fnmatchcase(proposal.giver, self.giver) and fnmatchcase(to, self.to)


@dataclass
class Findings:
    """The objections of the rules."""

    errors: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    warnings: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def judge(self, rule: _Rule, verdict: Verdict) -> None:
        if verdict is None or verdict is True:
            return
        detail = verdict if isinstance(verdict, str) else "the rule is not satisfied"
        finding = {"rule": rule.name, "detail": detail}
        (self.errors if rule.severity == "error" else self.warnings).append(finding)

    def broke(self, rule: _Rule, error: Exception) -> None:
        detail = f"the rule raised {type(error).__name__}: {error}"
        self.errors.append({"rule": rule.name, "detail": detail, "broken": True})

    def check(self) -> None:
        """Raises what the server raises for its own rules."""
        if not self.errors:
            return
        listed = "; ".join(f"{it['rule']}: {it['detail']}" for it in self.errors)
        raise Conflict(
            "handoff.invalid",
            f"the hand-off is invalid: {listed}",
            "fix what the rules object to, then offer again",
            {"errors": self.errors, "warnings": self.warnings},
        )

    def merged(self, verdict: dict[str, Any]) -> dict[str, Any]:
        return {
            **verdict,
            "valid": bool(verdict.get("valid")) and not self.errors,
            "errors": [*verdict.get("errors", []), *self.errors],
            "warnings": [*verdict.get("warnings", []), *self.warnings],
        }


class RuleBook:
    """The rules of a client that are functions."""

    def __init__(self) -> None:
        self._rules: dict[str, _Rule] = {}

    @property
    def is_empty(self) -> bool:
        return not self._rules

    def add(
        self, name: str, severity: Literal["error", "warning"], giver: str, to: str
    ) -> Callable[[C], C]:
        def register(callback: C) -> C:
            self._rules[name] = _Rule(name, severity, giver, to, callback)
            return callback

        return register

    def remove(self, name: str) -> None:
        self._rules.pop(name, None)

    def check(self, proposal: Proposal) -> Findings:
        findings = Findings()
        for rule in list(self._rules.values()):
            if not rule.applies(proposal):
                continue
            try:
                verdict = rule.callback(proposal)
                if inspect.isawaitable(verdict):
                    if inspect.iscoroutine(verdict):
                        verdict.close()
                    raise TypeError("a coroutine function needs an AsyncBaton")
                findings.judge(rule, verdict)
            except Exception as error:
                findings.broke(rule, error)
        return findings

    async def check_async(self, proposal: Proposal) -> Findings:
        findings = Findings()
        for rule in list(self._rules.values()):
            if not rule.applies(proposal):
                continue
            try:
                verdict = rule.callback(proposal)
                findings.judge(rule, await verdict if inspect.isawaitable(verdict) else verdict)
            except Exception as error:
                findings.broke(rule, error)
        return findings


class Rules(RulesCalls):
    """Rules for hand-offs."""

    __slots__ = ()

    def callback(
        self,
        name: str,
        *,
        severity: Literal["error", "warning"] = "error",
        giver: str = "*",
        to: str = "*",
    ) -> Callable[[C], C]:
        """Decorates a function that is a rule. It gets a `Proposal`, and returns what is wrong as a
        text, or nothing. It applies to hand-offs offered through this client."""
        return self._baton.rule_book.add(name, severity, giver, to)

    def remove_callback(self, name: str) -> None:
        """Removes a rule that is a function."""
        self._baton.rule_book.remove(name)


class AsyncRules(AsyncRulesCalls):
    """Rules for hand-offs."""

    __slots__ = ()

    def callback(
        self,
        name: str,
        *,
        severity: Literal["error", "warning"] = "error",
        giver: str = "*",
        to: str = "*",
    ) -> Callable[[C], C]:
        """Decorates a function, or a coroutine function, that is a rule. See `Rules.callback`."""
        return self._baton.rule_book.add(name, severity, giver, to)

    def remove_callback(self, name: str) -> None:
        """Removes a rule that is a function."""
        self._baton.rule_book.remove(name)


def _accept_fields(handoff: str, lease: float | None, overwrite: bool) -> dict[str, Any]:
    fields: dict[str, Any] = {"handoff": handoff}
    if lease is not None:
        fields["lease_ms"] = milliseconds(lease)
    if overwrite:
        fields["overwrite"] = True
    return fields


def _task_of(accepted: types.HandoffAccepted) -> dict[str, Any]:
    if accepted.task is None:
        raise Invalid(
            "client.no_task",
            f"hand-off `{accepted.handoff.id}` came without a task",
            "use `offer.accept()`, and `handoffs.complete` when it is done",
        )
    return accepted.task.raw


class ReceivedJob(Job):
    """A task that came with a hand-off."""

    accepted: types.HandoffAccepted
    """The content of the hand-off: `values`, and the hand-off with its notes and receipt."""

    def __init__(self, baton: Baton, accepting: dict[str, Any]) -> None:
        super().__init__(baton, {}, 0)
        self._accepting = accepting

    def _acquire(self) -> None:
        raw = self._base.call("handoff.accept", **self._accepting)
        self.accepted = types.HandoffAccepted(raw)
        self._begin(_task_of(self.accepted))


class AsyncReceivedJob(AsyncJob):
    """A task that came with a hand-off."""

    accepted: types.HandoffAccepted
    """The content of the hand-off: `values`, and the hand-off with its notes and receipt."""

    def __init__(self, baton: AsyncBaton, accepting: dict[str, Any]) -> None:
        super().__init__(baton, {}, 0)
        self._accepting = accepting

    async def _acquire(self) -> None:
        raw = await self._base.call("handoff.accept", **self._accepting)
        self.accepted = types.HandoffAccepted(raw)
        self._begin(_task_of(self.accepted))


class Offer:
    """A hand-off that was offered to this agent."""

    def __init__(self, baton: Baton, handoff: types.Handoff) -> None:
        self._baton = baton
        self.handoff = handoff

    def accept(
        self, *, lease: float | None = None, overwrite: bool = False
    ) -> types.HandoffAccepted:
        """Takes it: the task, the keys and the state are this agent's from now on."""
        fields = _accept_fields(self.handoff.id, lease, overwrite)
        return types.HandoffAccepted(self._baton.call("handoff.accept", **fields))

    def work(self, *, lease: float | None = None, overwrite: bool = False) -> ReceivedJob:
        """A context manager that takes it and works on its task, with renewals."""
        return ReceivedJob(self._baton, _accept_fields(self.handoff.id, lease, overwrite))

    def reject(self, reason: str | None = None) -> types.Handoff:
        """Does not take it: the giver keeps everything."""
        return self._baton.handoffs.reject(self.handoff.id, reason=reason)


class AsyncOffer:
    """A hand-off that was offered to this agent."""

    def __init__(self, baton: AsyncBaton, handoff: types.Handoff) -> None:
        self._baton = baton
        self.handoff = handoff

    async def accept(
        self, *, lease: float | None = None, overwrite: bool = False
    ) -> types.HandoffAccepted:
        """Takes it: the task, the keys and the state are this agent's from now on."""
        fields = _accept_fields(self.handoff.id, lease, overwrite)
        return types.HandoffAccepted(await self._baton.call("handoff.accept", **fields))

    def work(self, *, lease: float | None = None, overwrite: bool = False) -> AsyncReceivedJob:
        """A context manager that takes it and works on its task, with renewals."""
        return AsyncReceivedJob(self._baton, _accept_fields(self.handoff.id, lease, overwrite))

    async def reject(self, reason: str | None = None) -> types.Handoff:
        """Does not take it: the giver keeps everything."""
        return await self._baton.handoffs.reject(self.handoff.id, reason=reason)


class Handoffs(HandoffsCalls):
    """Hand-offs of tasks, keys and notes between agents."""

    __slots__ = ()

    def _call(self, operation: Operation, fields: dict[str, Any], **how: Any) -> Any:
        book = self._baton.rule_book
        if book.is_empty or operation.name not in _PROPOSING:
            return super()._call(operation, fields, **how)
        findings = book.check(Proposal(self._agent, fields))
        if operation.name == "handoff.validate":
            return findings.merged(super()._call(operation, fields, **how))
        findings.check()
        return super()._call(operation, fields, **how)

    def offer_fields(self, fields: dict[str, Any]) -> Any:
        """Offers a hand-off whose fields are those of the wire."""
        return self._call(OPERATIONS["handoff.offer"], fields)

    def offers(self, wait: float | None = None) -> Iterator[Offer]:
        """Iterates over the offers to this agent; ends when no offer arrives for so many
        seconds."""
        while True:
            for chunk in waits(wait):
                handoff = self.receive(wait_ms=chunk)
                if handoff is not None:
                    yield Offer(self._baton, handoff)
                    break
            else:
                return


class AsyncHandoffs(AsyncHandoffsCalls):
    """Hand-offs of tasks, keys and notes between agents."""

    __slots__ = ()

    async def _call(self, operation: Operation, fields: dict[str, Any], **how: Any) -> Any:
        book = self._baton.rule_book
        if book.is_empty or operation.name not in _PROPOSING:
            return await super()._call(operation, fields, **how)
        findings = await book.check_async(Proposal(self._agent, fields))
        if operation.name == "handoff.validate":
            return findings.merged(await super()._call(operation, fields, **how))
        findings.check()
        return await super()._call(operation, fields, **how)

    async def offer_fields(self, fields: dict[str, Any]) -> Any:
        """Offers a hand-off whose fields are those of the wire."""
        return await self._call(OPERATIONS["handoff.offer"], fields)

    async def offers(self, wait: float | None = None) -> AsyncIterator[AsyncOffer]:
        """Iterates over the offers to this agent; ends when no offer arrives for so many
        seconds."""
        while True:
            for chunk in waits(wait):
                handoff = await self.receive(wait_ms=chunk)
                if handoff is not None:
                    yield AsyncOffer(self._baton, handoff)
                    break
            else:
                return
