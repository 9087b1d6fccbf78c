"""Writes the messages of A2A as Baton's gRPC binding knows them, from the official definition.

    a2a_schema.py [--check] FILE

The definition is the descriptor in the package `a2a-sdk`. With `--check`, nothing is written, and it
fails if the file says something else.
"""

import json
import sys

from a2a.types import a2a_pb2
from google.protobuf.descriptor import Descriptor, FieldDescriptor

SCALARS = {
    FieldDescriptor.TYPE_STRING: "string",
    FieldDescriptor.TYPE_BYTES: "bytes",
    FieldDescriptor.TYPE_INT32: "int32",
    FieldDescriptor.TYPE_BOOL: "bool",
}
# These have a form of their own in JSON.
WELL_KNOWN = {"Struct", "Value", "Timestamp"}


def kind(field: FieldDescriptor) -> str:
    if field.enum_type is not None:
        return field.enum_type.name
    if field.message_type is not None:
        return field.message_type.name
    return SCALARS[field.type]


def rule(field: FieldDescriptor) -> str:
    return "repeated" if field.is_repeated else "single"


def row(field: FieldDescriptor) -> list:
    entry = field.message_type
    if entry is not None and entry.GetOptions().map_entry:
        assert kind(entry.fields_by_name["key"]) == "string"
        return [field.number, field.json_name, kind(entry.fields_by_name["value"]), "map"]
    return [field.number, field.json_name, kind(field), rule(field)]


def main() -> None:
    [path] = [argument for argument in sys.argv[1:] if argument != "--check"]
    messages: dict[str, list] = {"Empty": []}
    enums: dict[str, dict[str, int]] = {}

    def add(message: Descriptor) -> None:
        if message.name in messages or message.name in WELL_KNOWN:
            return
        messages[message.name] = []
        for field in message.fields:
            messages[message.name].append(row(field))
            entry = field.message_type
            if entry is not None and entry.GetOptions().map_entry:
                entry = entry.fields_by_name["value"].message_type
            if entry is not None:
                add(entry)
            if field.enum_type is not None:
                enums[field.enum_type.name] = {value.name: value.number for value in field.enum_type.values}

    [service] = a2a_pb2.DESCRIPTOR.services_by_name.values()
    methods = {}
    for method in service.methods:
        methods[method.name] = [method.input_type.name, method.output_type.name]
        add(method.input_type)
        add(method.output_type)

    def lines(table: dict) -> str:
        return ",\n".join(f"    {json.dumps(name)}: {json.dumps(table[name])}" for name in sorted(table))

    parts = [f'  "service": {json.dumps(service.full_name)}']
    for name, table in [("methods", methods), ("messages", messages), ("enums", enums)]:
        parts.append(f'  "{name}": {{\n{lines(table)}\n  }}')
    text = "{\n" + ",\n".join(parts) + "\n}\n"
    if "--check" in sys.argv:
        with open(path) as file:
            if file.read() != text:
                sys.exit(f"{path} is not the definition of the package: run scripts/a2a_schema.py {path}")
    else:
        with open(path, "w") as file:
            file.write(text)


if __name__ == "__main__":
    main()
