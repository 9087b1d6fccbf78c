"""Writes the modules of the SDK that are made from `spec/`.

    python generate.py            writes them
    python generate.py --check    fails if a file differs from what would be written

It reads `spec/operations.json`, `spec/openapi.json` and `spec/events.json`, and writes

    types.py                what operations return: a class per object, a `Literal` per enumeration
    params.py               what operations take: one `TypedDict` per object
    _kinds.py               one exception per kind of error
    _operations.py          the facts about every operation that the protocol core needs
    _calls.py               one method per operation, blocking
    _async_calls.py         the same, as coroutines
    _queued_calls.py        the same, queued into a transaction or a batch

Needs nothing but the standard library.
"""

from __future__ import annotations

import argparse
import json
import keyword
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeGuard

HERE = Path(__file__).resolve().parent
SPEC = HERE.parent.parent / "spec"
PACKAGE = HERE / "src" / "baton"

HEADER = '"""{about}\n\nMade by `generate.py` from `spec/`; changes made here are overwritten."""\n'
WIDTH = 96

Schema = Any

# The groups of operations, by the first part of their name, and the attribute that has them.
GROUPS = {
    "agent": "agents",
    "artifact": "artifacts",
    "barrier": "barriers",
    "checkpoint": "checkpoints",
    "context": "context",
    "contract": "contracts",
    "event": "events",
    "handler": "handlers",
    "handoff": "handoffs",
    "inbox": "inbox",
    "join": "joins",
    "lock": "locks",
    "message": "messages",
    "namespace": "namespaces",
    "pipeline": "pipelines",
    "reaction": "reactions",
    "rule": "rules",
    "secret": "secrets",
    "semaphore": "semaphores",
    "spend": "spending",
    "state": "state",
    "stream": "streams",
    "task": "tasks",
    "topic": "topics",
    "workspace": "workspace",
}

# Required fields that come before others which are not in the path, in this order.
FIRST = ("to", "type", "name", "pipeline", "stream", "token")
# Optional fields that may be given by position.
POSITIONAL = {
    "task.create": ["definition"],
    "task.complete": ["result"],
    "event.emit": ["payload"],
    "stream.send": ["data"],
    "task.claim": ["types"],
}
# On a WebSocket `id` is the number of the request, so these name their object by its noun.
ID_FIELDS = {"task.create": "task", "join.create": "join"}

DURATION_NOTE = "Fields that end in `_ms` are milliseconds."


def is_schema(schema: Schema) -> TypeGuard[dict[str, Any]]:
    """Whether it says something: `true` allows everything."""
    return isinstance(schema, dict)


def words(text: str | None) -> str:
    """A description on one line."""
    return " ".join((text or "").split())


def pascal(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[^A-Za-z0-9]+", name))


def python_name(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name


def wrap(text: str, indent: str, hanging: bool = False) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + ("    " if hanging else ""),
        break_long_words=False,
        break_on_hyphens=False,
    )


def escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"""', "'''")


def docstring(text: str, indent: str, more: list[str] | None = None) -> list[str]:
    """A docstring: one line if it fits, else with its quotes on lines of their own."""
    text = escaped(text) or "Not described."
    single = f'{indent}"""{text}"""'
    if not more and len(single) <= WIDTH:
        return [single]
    lines = wrap(text, indent)
    lines[0] = f'{indent}"""{lines[0].strip()}'
    if more:
        lines += ["", *(escaped(line) for line in more)]
    return [*lines, f'{indent}"""']


@dataclass
class Spec:
    """The contents of `spec/`."""

    operations: list[dict[str, Any]]
    schemas: dict[str, Schema]
    event_types: list[str]
    version: str

    @classmethod
    def read(cls) -> Spec:
        operations = json.loads((SPEC / "operations.json").read_text("utf-8"))
        openapi = json.loads((SPEC / "openapi.json").read_text("utf-8"))
        events = json.loads((SPEC / "events.json").read_text("utf-8"))
        names = sorted({example["name"].split()[0] for example in events["examples"]})
        schemas = openapi["components"]["schemas"]
        return cls(operations["operations"], schemas, names, operations["version"])

    def groups(self) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        for group in sorted(GROUPS):
            prefix = f"{group}."
            yield group, [it for it in self.operations if it["name"].startswith(prefix)]


def ref_name(schema: Schema) -> str | None:
    if is_schema(schema) and "$ref" in schema:
        return str(schema["$ref"]).rsplit("/", 1)[-1]
    return None


def variants(schema: Schema) -> list[Schema] | None:
    """The alternatives of a union, without `null`."""
    if not is_schema(schema):
        return None
    alternatives = schema.get("anyOf") or schema.get("oneOf")
    if not alternatives or "properties" in schema:
        return None
    return [it for it in alternatives if it.get("type") != "null"]


def is_nullable(schema: Schema) -> bool:
    if not is_schema(schema):
        return False
    alternatives: list[Any] = schema.get("anyOf") or schema.get("oneOf") or []
    kinds = schema.get("type")
    return any(it.get("type") == "null" for it in alternatives) or (
        isinstance(kinds, list) and "null" in kinds
    )


def plain_type(schema: Schema) -> str | None:
    """The JSON type of a schema, without `null`."""
    kinds = schema.get("type")
    if isinstance(kinds, list):
        rest: list[str] = [str(kind) for kind in kinds if kind != "null"]  # pyright: ignore
        return rest[0] if len(rest) == 1 else None
    return kinds


def literals(schema: Schema) -> list[str] | None:
    """The words of an enumeration."""
    alternatives = variants(schema)
    if not alternatives or not all("const" in it for it in alternatives):
        return None
    return [str(it["const"]) for it in alternatives]


def is_object(schema: Schema) -> bool:
    return is_schema(schema) and plain_type(schema) == "object" and "properties" in schema


def tagged_record(schema: Schema) -> Schema | None:
    """A union whose alternatives are objects with one member each, as an object with all of these
    members, of which one is there."""
    alternatives = variants(schema)
    if not alternatives or len(alternatives) < 2 or not all(map(is_object, alternatives)):
        return None
    if any(len(it["properties"]) != 1 or not it.get("required") for it in alternatives):
        return None
    members: dict[str, Schema] = {}
    for each in alternatives:
        [(name, member)] = each["properties"].items()
        documented = {"description": each.get("description") or member.get("description")}
        members[name] = {**member, **documented} if is_schema(member) else member
    about = {"description": schema.get("description"), "type": "object"}
    return {**about, "properties": members, "required": []}


SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}


@dataclass
class Types:
    """Names the type of a schema, as it is returned or as it is given."""

    spec: Spec
    records: dict[str, Schema] = field(default_factory=dict[str, Any])
    params: dict[str, Schema] = field(default_factory=dict[str, Any])
    enums: dict[str, Schema] = field(default_factory=dict[str, Any])
    unions: dict[str, str] = field(default_factory=dict[str, str])
    """Alternatives of which some are objects, by name."""

    def resolve(self, schema: Schema) -> Schema:
        name = ref_name(schema)
        return self.resolve(self.spec.schemas[name]) if name else schema

    # The types that operations return.

    def returned(self, schema: Schema, prefix: str = "") -> tuple[str, Callable[[str], str]]:
        """The annotation, and what turns the raw JSON into it."""
        annotation, convert = self._returned(schema, prefix)
        if not is_nullable(schema) or annotation == "Any":
            return annotation, convert
        if convert("x") == "x":
            return f"{annotation} | None", convert
        made = re.fullmatch(r"([A-Za-z_.]+)\(x\)", convert("x"))
        if made:
            function = made.group(1)
            return f"{annotation} | None", lambda raw: f"{prefix}optional({function}, {raw})"
        return f"{annotation} | None", lambda raw: f"None if {raw} is None else {convert(raw)}"

    def _returned(self, schema: Schema, prefix: str) -> tuple[str, Callable[[str], str]]:
        def unchanged(raw: str) -> str:
            return raw

        if not is_schema(schema):
            return "Any", unchanged
        name = ref_name(schema)
        if name:
            return self._returned_ref(name, prefix)
        alternatives = variants(schema)
        if alternatives is not None:
            if len(alternatives) == 1:
                return self.returned(alternatives[0], prefix)
            kinds = sorted({self._loose(self.resolve(it)) for it in alternatives})
            return ("Any" if "Any" in kinds else " | ".join(kinds)), unchanged
        kind = plain_type(schema)
        if kind == "array":
            item, convert = self.returned(schema.get("items", True), prefix)
            if convert("x") == "x":
                return f"list[{item}]", unchanged
            return f"list[{item}]", lambda raw: f"[{convert('each')} for each in {raw}]"
        if kind == "object":
            item, convert = self.returned(schema.get("additionalProperties", True), prefix)
            if convert("x") == "x":
                return f"dict[str, {item}]", unchanged
            text = f"{{name: {convert('each')} for name, each in %s.items()}}"
            return f"dict[str, {item}]", lambda raw: text % raw
        return SCALARS.get(str(kind), "Any"), unchanged

    def _returned_ref(self, name: str, prefix: str) -> tuple[str, Callable[[str], str]]:
        schema = self.spec.schemas[name]
        if name == "Timestamp":
            return f"{prefix}datetime", lambda raw: f"{prefix}moment({raw})"
        if literals(schema):
            self.enums[name] = schema
            return f"{prefix}{pascal(name)}", lambda raw: raw
        schema = tagged_record(schema) or schema
        if is_object(schema):
            if name not in self.records:
                self.records[name] = schema
                for member in schema["properties"].values():
                    self.returned(member)
            made = f"{prefix}{pascal(name)}"
            return made, lambda raw: f"{made}({raw})"
        return self.returned(schema, prefix)

    def _loose(self, schema: Schema) -> str:
        """The type of one alternative of a union, which is returned as it came."""
        if not is_schema(schema):
            return "Any"
        if schema.get("type") == "array":
            return "list[Any]"
        if schema.get("type") == "object":
            return "dict[str, Any]"
        return SCALARS.get(str(schema.get("type")), "str" if literals(schema) else "Any")

    # The types that operations take.

    def given(self, schema: Schema, context: str, prefix: str = "") -> str:
        """The annotation of an argument; `context` names objects that have no name."""
        if not is_schema(schema):
            return "Any"
        name = ref_name(schema)
        if name:
            return self._given_ref(name, prefix)
        words_of_it = literals(schema)
        if words_of_it:
            return "Literal[" + ", ".join(json.dumps(word) for word in words_of_it) + "]"
        alternatives = variants(schema)
        if alternatives is not None:
            named = [self._given_variant(it, context, prefix) for it in alternatives]
            return "Any" if "Any" in named else " | ".join(dict.fromkeys(named))
        kind = plain_type(schema)
        if kind == "array":
            return f"Sequence[{self.given(schema.get('items', True), context, prefix)}]"
        if kind == "object" and "properties" in schema:
            self._collect(context, schema)
            return f"{prefix}{context}"
        if kind == "object":
            item = self.given(schema.get("additionalProperties", True), context, prefix)
            return f"Mapping[str, {item}]"
        return SCALARS.get(str(kind), "Any")

    def _given_ref(self, name: str, prefix: str) -> str:
        schema = self.spec.schemas[name]
        if name in ("Timestamp", "At"):
            return "int | str | datetime" if name == "At" else "str | datetime"
        if literals(schema):
            self.enums[name] = schema
            return f"{'t.' if prefix else ''}{pascal(name)}"
        if is_object(schema):
            self._collect(pascal(name), schema)
            return f"{prefix}{pascal(name)}"
        alternatives = variants(schema)
        if alternatives is not None and any(is_object(it) for it in alternatives):
            self.unions[pascal(name)] = self.given(schema, pascal(name))
            return f"{prefix}{pascal(name)}"
        return self.given(schema, pascal(name), prefix)

    def _given_variant(self, schema: Schema, context: str, prefix: str) -> str:
        if is_object(schema):
            key = (schema.get("required") or list(schema["properties"]))[0]
            return self.given(schema, f"{context}{pascal(key)}", prefix)
        return self.given(schema, context, prefix)

    def _collect(self, name: str, schema: Schema) -> None:
        if name not in self.params:
            self.params[name] = schema
            for member, value in schema["properties"].items():
                self.given(value, f"{name}{pascal(member)}")


# The modules.


def type_module(types: Types) -> str:
    out = [
        HEADER.format(about="The results of the operations."),
        "from __future__ import annotations\n",
        "from datetime import datetime",
        "from typing import Any, Literal\n",
        "from ._record import Record, moment, optional",
    ]
    names = ["datetime", "moment", "optional"]
    for name in sorted(types.enums, key=pascal):
        allowed = literals(types.enums[name]) or []
        listed = ", ".join(json.dumps(word) for word in allowed)
        out += ["", *assignment(pascal(name), f"Literal[{listed}]", allowed)]
        out += docstring(words(types.enums[name].get("description")) or f"{name}.", "")
        names.append(pascal(name))
    events = types.spec.event_types
    out += ["", *assignment("EventType", "Literal[]", events)]
    out += docstring("The types of events that Baton itself records.", "")
    names.append("EventType")
    for name in sorted(types.records, key=pascal):
        out += ["", "", *record_class(types, name, types.records[name])]
        names.append(pascal(name))
    out += ["", "", "__all__ = [", *(f'    "{name}",' for name in sorted(names, key=sort_key)), "]"]
    return "\n".join(out) + "\n"


def sort_key(name: str) -> tuple[int, str]:
    """The order in which ruff sorts `__all__`."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


def assignment(name: str, value: str, allowed: list[str]) -> list[str]:
    line = f"{name} = {value}"
    if len(line) <= WIDTH and value != "Literal[]":
        return [line]
    return [f"{name} = Literal[", *(f'    "{word}",' for word in allowed), "]"]


def record_class(types: Types, name: str, schema: Schema) -> list[str]:
    required = set(schema.get("required", []))
    out = [f"class {pascal(name)}(Record):"]
    out += docstring(words(schema.get("description")) or f"The answer `{name}`.", "    ")
    out += ["", "    __slots__ = ()"]
    demanded = sorted(required)
    line = "    _required = frozenset({" + ", ".join(f'"{it}"' for it in demanded) + "})"
    if not demanded:
        line = "    _required = frozenset[str]()"
    if len(line) > WIDTH:
        out += ["    _required = frozenset(", "        {"]
        out += [f'            "{it}",' for it in demanded] + ["        }", "    )"]
    else:
        out.append(line)
    for member, value in schema["properties"].items():
        annotation, convert = types.returned(value)
        raw = f'self.raw["{member}"]' if member in required else f'self.raw.get("{member}")'
        if member not in required and not annotation.endswith("| None") and annotation != "Any":
            annotation, body = absent(annotation, convert, member, value)
        else:
            body = convert(raw)
        out += ["", "    @property", f"    def {python_name(member)}(self) -> {annotation}:"]
        out += docstring(words(value.get("description")) if is_schema(value) else "", "        ")
        out += [f"        return {body}"]
    return out


def absent(
    annotation: str, convert: Callable[[str], str], member: str, schema: Schema
) -> tuple[str, str]:
    """The value of an omitted field: empty, `False`, its default, or none."""
    default = schema.get("default") if is_schema(schema) else None
    if annotation.startswith("list["):
        return annotation, convert(f'self.raw.get("{member}", [])')
    if annotation.startswith("dict["):
        return annotation, convert(f'self.raw.get("{member}", {{}})')
    if annotation == "bool":
        return annotation, f'self.raw.get("{member}", {bool(default)})'
    if default is not None and convert("x") == "x":
        return annotation, f'self.raw.get("{member}", {default!r})'
    made = re.fullmatch(r"([A-Za-z_.]+)\(x\)", convert("x"))
    raw = f'self.raw.get("{member}")'
    return f"{annotation} | None", f"optional({made.group(1)}, {raw})" if made else raw


def param_module(types: Types) -> str:
    used = sorted(types.params)
    body: list[str] = []
    for name in used:
        body += ["", "", *typed_dict(types, name, types.params[name])]
    body += [""]
    for name, union in sorted(types.unions.items()):
        line = f"{name} = {union}"
        split = union.replace(" | ", "\n    | ")
        body += ["", line if len(line) <= WIDTH else f"{name} = (\n    {split}\n)"]
        body += docstring(words_of(types.spec.schemas[name]) or f"{name}.", "")
    text = "\n".join(body)
    enums = [
        it for it in sorted(map(pascal, types.enums)) if re.search(rf"(: |\[|\| ){it}\b", text)
    ]
    abstract = [it for it in ("Mapping", "Sequence") if re.search(rf"\b{it}\[", text)]
    typing = [it for it in ("Any", "Literal", "TypedDict") if re.search(rf"\b{it}\b", text)]
    out = [
        HEADER.format(about="The arguments of the operations that are more than a plain value."),
        "from __future__ import annotations\n",
        f"from collections.abc import {', '.join(abstract)}",
        *(["from datetime import datetime"] if "datetime" in text else []),
        f"from typing import {', '.join(typing)}",
        *([f"\nfrom .types import {', '.join(enums)}"] if enums else []),
        text,
        "",
        "__all__ = [",
        *(f'    "{name}",' for name in sorted([*used, *types.unions])),
        "]",
    ]
    return "\n".join(out) + "\n"


def typed_dict(types: Types, name: str, schema: Schema) -> list[str]:
    required = set(schema.get("required", []))
    members = {
        member: (types.given(value, f"{name}{pascal(member)}"), words_of(value), is_nullable(value))
        for member, value in schema["properties"].items()
    }
    about = docstring(words(schema.get("description")) or f"An argument `{name}`.", "    ")
    if any(keyword.iskeyword(member) for member in members):
        listed = [f'        "{member}": {kind},' for member, (kind, _, _) in members.items()]
        total = "" if required == set(members) else "    total=False,\n"
        lines = [f"{name} = TypedDict(", f'    "{name}",', "    {", *listed, "    },"]
        return [
            *lines,
            *([total.rstrip()] if total else []),
            ")",
            *docstring(words(schema.get("description")) or f"An argument `{name}`.", ""),
        ]

    def block(which: list[str]) -> list[str]:
        lines: list[str] = []
        for member in which:
            kind, described, _ = members[member]
            lines += ["", f"    {member}: {kind}", *docstring(described, "    ")]
        return lines

    must = [member for member in members if member in required]
    may = [member for member in members if member not in required]
    if not must or not may:
        total = "" if must else ", total=False"
        return [f"class {name}(TypedDict{total}):", *about, *block(must or may)]
    return [
        f"class _{name}Required(TypedDict):",
        *block(must)[1:],
        "",
        "",
        f"class {name}(_{name}Required, total=False):",
        *about,
        *block(may),
    ]


def words_of(schema: Schema) -> str:
    return words(schema.get("description")) if is_schema(schema) else ""


def kind_module(spec: Spec) -> str:
    kinds = [(it["const"], words(it.get("description"))) for it in spec.schemas["Kind"]["oneOf"]]
    out = [
        HEADER.format(about="One exception per kind of error: the kind says how to react."),
        "from __future__ import annotations\n",
        "from ._error import BatonError",
    ]
    for kind, about in kinds:
        out += ["", "", f"class {pascal(kind)}(BatonError):", *docstring(about, "    "), ""]
        out += [f'    kind = "{kind}"']
    out += ["", "", "KINDS: dict[str, type[BatonError]] = {"]
    out += [f'    "{kind}": {pascal(kind)},' for kind, _ in kinds] + ["}"]
    names = ["KINDS", *sorted(pascal(kind) for kind, _ in kinds)]
    out += ["", "__all__ = [", *(f'    "{name}",' for name in names), "]"]
    return "\n".join(out) + "\n"


def operation_module(spec: Spec) -> str:
    out = [
        HEADER.format(about="The facts about every operation that the protocol core needs."),
        "from __future__ import annotations\n",
        "from ._operation import GivesBack, Operation\n",
        f'VERSION = "{spec.version}"',
        '"""The version of Baton that this was made from."""\n',
        "OPERATIONS: dict[str, Operation] = {",
    ]
    for it in spec.operations:
        name = it["name"]
        options: list[str] = []
        if it["effect"] == "asks":
            options.append("asks=True")
        if it["agent"] != "acts":
            options.append(f'agent="{it["agent"]}"')
        if it["waits"]:
            options.append(f'waits="{it["waits"]}"')
        if name in ID_FIELDS:
            options.append(f'id_field="{ID_FIELDS[name]}"')
        if it["token"] == "field":
            options.append("has_token=True")
        if it["past"] == "always":
            options.append("is_past=True")
        if it["minimal"]:
            options.append("minimal=True")
        out += [f'    "{name}": Operation(']
        out += [f'        "{name}",'] + [f"        {option}," for option in options]
        if it["gives_back"]:
            back = it["gives_back"]
            out += ["        gives_back=GivesBack(", f'            "{back["operation"]}",']
            out += ["            {"]
            for member, source in sorted(back["fields"].items()):
                path = source.get("pointer")
                value = repr(tuple(path.strip("/").split("/"))) if path else repr(source["text"])
                out.append(f'                "{member}": {value},'.replace("'", '"'))
            out += ["            },", "        ),"]
        out += ["    ),"]
    out += ["}"]
    return "\n".join(out) + "\n"


# The methods.


@dataclass
class Argument:
    """One argument of a method."""

    wire: str
    annotation: str
    required: bool
    is_any: bool
    described: str

    @property
    def name(self) -> str:
        return python_name(self.wire)

    def declared(self) -> str:
        if self.required:
            return f"{self.name}: {self.annotation}"
        if self.is_any:
            return f"{self.name}: Any = OMIT"
        kind = self.annotation
        return (
            f"{self.name}: {kind} = None"
            if kind.endswith("None")
            else (f"{self.name}: {kind} | None = None")
        )


def arguments(types: Types, operation: dict[str, Any], in_transaction: bool) -> list[Argument]:
    name = operation["name"]
    path = re.findall(r"\{(\w+)\}", operation["path"])
    # With these the call has another reply: a method written by hand offers them.
    other: dict[str, Any] | None = operation["other_reply"]
    elsewhere: list[str] = other["fields"] if other else []
    fields = {wire: it for wire, it in operation["fields"].items() if wire not in elsewhere}
    if in_transaction:
        allowed = types.spec.schemas[f"transaction.{name}"]["properties"]
        fields = {wire: it for wire, it in fields.items() if wire in allowed}

    def order(wire: str) -> tuple[int, int, str]:
        if wire in path:
            return (0, path.index(wire), wire)
        return (1, FIRST.index(wire) if wire in FIRST else len(FIRST), wire)

    given: list[Argument] = []
    for wire in sorted(fields, key=order):
        schema = fields[wire]["schema"]
        annotation = types.given(schema, f"{pascal(name)}{pascal(wire)}", "p.")
        required = bool(fields[wire]["required"])
        # The agent that acts and the namespace of the handle are known.
        if (wire == "agent" and operation["agent"] == "field") or (
            wire == "namespace" and name.startswith("state.")
        ):
            required = False
        if in_transaction and wire == "agent":
            required = bool(fields[wire]["required"])
        given.append(Argument(wire, annotation, required, annotation == "Any", words_of(schema)))
    return given


def method(types: Types, operation: dict[str, Any], shape: str) -> list[str]:
    """A method; `shape` is `sync`, `async` or `transaction`."""
    name: str = operation["name"]
    in_transaction = shape == "transaction"
    given = arguments(types, operation, in_transaction)
    positional = [it for it in given if it.required]
    positional += [it for it in given if it.wire in POSITIONAL.get(name, []) and not it.required]
    named = [it for it in given if it not in positional]
    verb = python_name(name.split(".", 1)[1])
    changes = operation["effect"] == "changes"
    extra: list[str] = []
    notes: list[str] = []
    if not in_transaction:
        if operation["past"] == "at" and not any(it.wire == "at" for it in given):
            extra.append("at: int | str | datetime | None = None")
            notes += wrap(
                "at: The revision or time to ask about; the present if not given.", " " * 12
            )
        if changes and operation["token"] == "fence":
            extra.append("token: int | None = None")
            notes += wrap(
                "token: Refuses the change once the lease, hold or session of this token is over.",
                " " * 12,
            )
        if changes:
            extra.append("idempotency_key: str | None = None")
            notes += wrap(
                "idempotency_key: Repeating the call under this key has no second effect.", " " * 12
            )
        extra.append("timeout: float | None = None")
        notes += wrap(
            "timeout: Seconds after which the call fails, besides the time that it asks to wait.",
            " " * 12,
        )
    reply, convert = types.returned(operation["reply"], "t.")
    answer = f"Pending[{reply}]" if in_transaction else reply
    begin = "async def" if shape == "async" else "def"
    out = [f"    {begin} {verb}(", "        self,"]
    out += [f"        {it.declared()}," for it in positional]
    if named or extra:
        out += ["        *,"]
    out += [f"        {it.declared()}," for it in named] + [f"        {it}," for it in extra]
    out += [f"    ) -> {answer}:"]
    args = ["        Args:"]
    for it in [*positional, *named]:
        text = it.described or "See the reference."
        args += wrap(f"{it.name}: {text}", " " * 12, hanging=True)
    args += notes
    summary = words(operation["summary"]).rstrip(".") + f" (`{name}`)."
    out += docstring(summary, " " * 8, args if len(args) > 1 else None)
    out += body(given, operation, shape)
    call = [f'OPERATIONS["{name}"]', "sent"]
    if not in_transaction:
        if "at: int | str | datetime | None = None" in extra:
            call.append("at=at")
        if "token: int | None = None" in extra:
            call.append("token=token")
        if changes:
            call.append("idempotency_key=idempotency_key")
        call.append("timeout=timeout")
    if in_transaction:
        made = convert("raw")
        out += [f"        return self._queue({call[0]}, sent, lambda raw: {made})"]
        return out
    awaited = "await " if shape == "async" else ""
    line = f"        raw = {awaited}self._call({', '.join(call)})"
    if len(line) > 100:
        out += [f"        raw = {awaited}self._call("]
        out += [f"            {part}," for part in call] + ["        )"]
    else:
        out += [line]
    out += [f"        return {convert('raw')}"]
    return out


def body(given: list[Argument], operation: dict[str, Any], shape: str) -> list[str]:
    must = [it for it in given if it.required]
    line = "        sent: dict[str, Any] = {"
    line += ", ".join(f'"{it.wire}": {it.name}' for it in must) + "}"
    if len(line) > 100:
        out = ["        sent: dict[str, Any] = {"]
        out += [f'            "{it.wire}": {it.name},' for it in must] + ["        }"]
    else:
        out = [line]
    name = operation["name"]
    for it in given:
        if it.required:
            continue
        if it.wire == "agent" and operation["agent"] == "field":
            out += [f'        sent["agent"] = self._agent if {it.name} is None else {it.name}']
        elif (
            it.wire == "namespace"
            and name.startswith("state.")
            and (operation["fields"]["namespace"]["required"])
        ):
            out += ['        sent["namespace"] = (']
            out += ["            self._namespace if namespace is None else namespace", "        )"]
        else:
            absent_is = "OMIT" if it.is_any else "None"
            out += [f"        if {it.name} is not {absent_is}:"]
            out += [f'            sent["{it.wire}"] = {it.name}']
    return out


def call_module(types: Types, shape: str) -> str:
    about = {
        "sync": "One method per operation, blocking.",
        "async": "One coroutine per operation.",
        "transaction": "One method per operation of a transaction or a batch; each is queued.",
    }[shape]
    base = {"sync": "Calls", "async": "AsyncCalls", "transaction": "QueuedCalls"}[shape]
    classes: list[str] = []
    names: list[str] = []
    for group, operations in types.spec.groups():
        if shape == "transaction":
            operations = [
                it for it in operations if f"transaction.{it['name']}" in types.spec.schemas
            ]
            if not operations:
                continue
        name = f"{pascal(GROUPS[group])}Calls"
        names.append(name)
        classes += ["", "", f"class {name}({base}):"]
        classes += docstring(f"The operations `{group}.*`. {DURATION_NOTE}", "    ")
        classes += ["", "    __slots__ = ()"]
        for operation in operations:
            classes += ["", *method(types, operation, shape)]
    text = "\n".join(classes)
    needs = [it for it in ("Mapping", "Sequence") if re.search(rf"\b{it}\[", text)]
    module = {"sync": "_group", "async": "_group", "transaction": "_command_queue"}[shape]
    imported = f"from .{module} import {base}"
    if shape == "transaction":
        imported = f"from ._command_queue import Pending, {base}"
    out = [
        HEADER.format(about=about),
        "from __future__ import annotations\n",
        f"from collections.abc import {', '.join(needs)}",
        *(["from datetime import datetime"] if re.search(r"\bdatetime\b", text) else []),
        "from typing import Any, Literal\n" if "Literal[" in text else "from typing import Any\n",
        "from . import params as p",
        "from . import types as t",
        *([imported] if imported < "from ._operation" else []),
        *(["from ._omit import OMIT"] if "OMIT" in text else []),
        "from ._operations import OPERATIONS",
        *([imported] if imported >= "from ._operation" else []),
        text,
        "",
        "",
        "__all__ = [",
        *(f'    "{name}",' for name in sorted(names)),
        "]",
    ]
    return "\n".join(out) + "\n"


def modules() -> dict[str, str]:
    spec = Spec.read()
    unknown = {it["name"].split(".")[0] for it in spec.operations} - set(GROUPS)
    if unknown:
        raise SystemExit(f"no group is named for {sorted(unknown)}")
    types = Types(spec)
    calls = {
        "_calls.py": call_module(types, "sync"),
        "_async_calls.py": call_module(types, "async"),
        "_queued_calls.py": call_module(types, "transaction"),
    }
    types.returned({"$ref": "#/components/schemas/Entry"})
    types.returned({"$ref": "#/components/schemas/Minimal"})
    types.given({"$ref": "#/components/schemas/Precondition"}, "Precondition")
    return {
        **calls,
        "types.py": type_module(types),
        "params.py": param_module(types),
        "_kinds.py": kind_module(spec),
        "_operations.py": operation_module(spec),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--check", action="store_true", help="fail if a file would change")
    check = parser.parse_args().check
    stale: list[str] = []
    for name, text in modules().items():
        path = PACKAGE / name
        if path.exists() and path.read_text("utf-8") == text:
            continue
        stale.append(name)
        if not check:
            path.write_text(text, "utf-8")
    if check and stale:
        print(f"these differ from spec/: {', '.join(sorted(stale))}", file=sys.stderr)
        print("run `python sdk/python/generate.py` and commit the result", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
