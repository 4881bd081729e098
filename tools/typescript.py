"""
Write the types and methods of the TypeScript client from the operations and the events of streams, as OpenAPI describes
them.

    python tools/typescript.py            write models.ts, events.ts and operations.ts in clients/typescript/src
    python tools/typescript.py --check    fail if a file is not up to date

A request has one interface, named after its operation: the fields of its path, query and body. What OpenAPI does not
say is taken from the declaration of the operation: whether it is a stream, and what a repeat of it does. Requests that
other services send (webhooks) are left out.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from itertools import chain
from pathlib import Path
from textwrap import wrap
from typing import Any, Final, NamedTuple

from gatepost.executor import load_operations
from gatepost.gateway.openapi import build_openapi
from gatepost.gateway.streams.event_models import CONTROL_EVENTS, EVENTS
from gatepost.operations.operation import Kind, Operation, View

FOLDER: Final = Path(__file__).parent.parent / "clients" / "typescript" / "src"
NOTE: Final = "// Written by tools/typescript.py from the operations of the gateway; change those instead.\n"
WIDTH: Final = 120
#: numbers above this are not exact in JavaScript, so they may also be text
MAX_SAFE_INTEGER: Final = 2**53 - 1
BASIC_TYPES: Final = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
    "object": "Record<string, unknown>",
    "array": "unknown[]",
}

Schema = Mapping[str, Any]


class Method(NamedTuple):
    """An operation, and its description in OpenAPI."""

    operation: Operation
    document: Mapping[str, Any]

    @property
    def name(self) -> str:
        return str(self.document["operationId"])

    @property
    def request(self) -> str:
        return self.operation.name


class Generator:
    def __init__(self) -> None:
        operations = load_operations()
        document = build_openapi(operations, "")
        self._schemas: Mapping[str, Schema] = document["components"]["schemas"]
        self._methods = [
            Method(operation, document["paths"][operation.path][operation.method.lower()])
            for operation in operations
            if operation.kind is not Kind.RAW
        ]
        if shared := sorted(component for component in self._schemas if "." in component):
            raise ValueError(f"two models have one name: {', '.join(shared)}")
        #: by the name of an event: the type of its data
        self._events = {
            event: _join_types([_get_name(model) for model in models], 2) for event, models in EVENTS.items()
        }
        self._event_models = [*chain.from_iterable(EVENTS.values())]
        #: components that were named and are still to be written; every operation may answer with a problem
        self._queue = ["Problem", *map(_get_name, chain(self._event_models, *CONTROL_EVENTS.values()))]

    def build_models(self) -> str:
        """Return the interfaces of all requests, and of the models that they and their answers name."""
        written = {method.request: self._write_request(method) for method in self._methods}
        for method in self._methods:
            self._write_answer(method)
        while self._queue:
            name = self._queue.pop()
            if name not in written:
                written[name] = ""  # it may name itself
                written[name] = self._write_model(name, self._schemas[name])
        time = "/** A time as in RFC 3339, in UTC. */\nexport type Time = string;\n"
        return "\n".join([NOTE, time, *(written[name] for name in sorted(written))])

    def build_events(self) -> str:
        """Return the events of streams, those aside that are about a stream itself: the client follows them."""
        imports = "\n".join(f"  {name}," for name in sorted({_get_name(model) for model in self._event_models}))
        events = "\n".join(f'  "{event}": {kind};' for event, kind in self._events.items())
        return f"""{NOTE}
import type {{
{imports}
}} from "./models.js";

/**
 * By the name of an event: its data. What is stored has an `id` of its own and comes after a lost connection, too:
 * messages, items, entries, steps. The others are live: only readers of that moment see them.
 */
export interface EventData {{
{events}
}}

/** An event of a stream; `id` is where to resume after it. A later gateway may send others. */
export type GatepostEvent = {{
  [Name in keyof EventData]: {{ event: Name; data: EventData[Name]; id: string }};
}}[keyof EventData];
"""

    def build_operations(self) -> str:
        """Return the class with a method for each operation."""
        body = "\n".join(self._write_method(method) for method in self._methods)
        answers = {self._write_answer(method) for method in self._methods if method.operation.kind is not Kind.STREAM}
        names = {method.request for method in self._methods} | (answers & set(self._schemas))
        imports = "\n".join(f"  {name}," for name in sorted(names))
        return f"""{NOTE}
import type {{ GatepostEvent }} from "./events.js";
import type {{
{imports}
}} from "./models.js";
import type {{ CallOptions, Operation, StreamOptions }} from "./options.js";

/** One method for each operation. The client says how an operation is called, and how a stream is read. */
export abstract class Operations {{
  protected abstract call<Answer>(operation: Operation, request: object, options?: CallOptions): Promise<Answer>;
  protected abstract watch(path: string, request: object, options?: StreamOptions): AsyncGenerator<GatepostEvent>;

{body}}}
"""

    def _write_request(self, method: Method) -> str:
        fields = [
            self._write_field(
                parameter["name"],
                _allow_text(parameter["schema"]) | {"description": parameter.get("description", "")},
                is_required=parameter["required"],
            )
            for parameter in _list_parameters(method)
        ]
        fields += self._write_fields(self._get_body(method))
        return _write_interface(method.request, f"What `{method.name}` asks.", fields)

    def _get_body(self, method: Method) -> Schema:
        """Return the object that a body is; an empty one if there is no body."""
        content = method.document.get("requestBody", {}).get("content", {})
        return self._resolve(content.get("application/json", {}).get("schema", {}))

    def _resolve(self, schema: Schema) -> Schema:
        for choice in schema.get("anyOf", ()):
            if choice.get("type") != "null":
                return self._resolve(choice)
        return self._schemas[_get_component(schema)] if "$ref" in schema else schema

    def _write_model(self, name: str, schema: Schema) -> str:
        description = schema.get("description", "")
        if "properties" in schema:
            return _write_interface(name, description, self._write_fields(schema))
        return f"{_write_comment(description)}export type {name} = {self._write_type(schema, indent=0)};\n"

    def _write_fields(self, schema: Schema) -> list[str]:
        required = schema.get("required", ())
        return [
            self._write_field(name, field, is_required=name in required)
            for name, field in schema.get("properties", {}).items()
        ]

    def _write_field(self, name: str, schema: Schema, *, is_required: bool) -> str:
        mark = "" if is_required else "?"
        default = schema.get("default")
        description = schema.get("description", "")
        if default not in (None, "", [], {}):
            note = f"default: {json.dumps(default)}"
            description = f"{description}; {note}" if description else note
        return f"{_write_comment(description, '  ')}  {name}{mark}: {self._write_type(schema)};"

    def _write_type(self, schema: Schema | bool, indent: int = 2) -> str:
        match schema:
            case bool():
                return "unknown"
            case {"$ref": str()}:
                component = _get_component(schema)
                self._queue.append(component)
                return component
            case {"enum": values}:
                return _join_types([json.dumps(value) for value in values], indent)
            case {"anyOf": choices}:
                return " | ".join(dict.fromkeys(self._write_type(choice) for choice in choices))
            case {"type": list() as kinds}:
                return " | ".join(BASIC_TYPES[kind] for kind in kinds)
            case {"type": "array", "prefixItems": items}:
                return f"[{', '.join(self._write_type(item) for item in items)}]"
            case {"type": "array", "items": items}:
                item = self._write_type(items)
                return f"({item})[]" if " | " in item else f"{item}[]"
            case {"type": "object", "properties": properties} if properties:
                fields = " ".join(" ".join(field.split()) for field in self._write_fields(schema))
                return f"{{ {fields} }}"
            case {"type": "object", "additionalProperties": Mapping() as values}:
                return f"Record<string, {self._write_type(values)}>"
            case {"type": "string", "format": "date-time"}:
                return "Time"
            case {"type": str(kind)}:
                return BASIC_TYPES[kind]
            case _:
                return "unknown"

    def _write_answer(self, method: Method) -> str:
        content = method.document["responses"][str(method.operation.status)].get("content", {})
        return next((self._write_type(media["schema"]) for media in content.values()), "void")

    def _write_method(self, method: Method) -> str:
        operation, request = method.operation, method.request
        is_required = any(parameter["required"] for parameter in _list_parameters(method))
        is_required = is_required or bool(self._get_body(method).get("required"))
        parameter = f"request: {request}" if is_required else f"request: {request} = {{}}"
        comment = _write_comment(method.document["description"], "  ")
        if operation.kind is Kind.STREAM:
            return (
                f"{comment}  {method.name}({parameter}, options?: StreamOptions): AsyncGenerator<GatepostEvent> {{\n"
                f'    return this.watch("{operation.path}", request, options);\n  }}\n'
            )
        fields = [f'"{operation.method}"', f'"{operation.path}"', f'"{operation.repetition}"']
        statuses = [status for status, answer in operation.responses.items() if _is_answer(status, answer)]
        fields += [json.dumps(statuses)] if statuses else []
        return (
            f"{comment}  {method.name}({parameter}, options?: CallOptions): Promise<{self._write_answer(method)}> {{\n"
            f"    return this.call([{', '.join(fields)}], request, options);\n  }}\n"
        )


def _list_parameters(method: Method) -> list[Mapping[str, Any]]:
    """Return the fields of the path, then those of the query; `after` of a stream is an option of every stream."""
    is_stream = method.operation.kind is Kind.STREAM
    return sorted(
        (
            parameter
            for parameter in method.document["parameters"]
            if parameter["in"] != "header" and not (is_stream and parameter["name"] == "after")
        ),
        key=lambda parameter: bool(parameter["in"] != "path"),
    )


def _allow_text(schema: Schema) -> dict[str, Any]:
    """Return the schema of a number in a query: a cursor, which may be large, is sent back as the text that it was."""
    if schema.get("maximum", 0) <= MAX_SAFE_INTEGER:
        return dict(schema)
    return {"anyOf": [{"type": "integer"}, {"type": "string"}]} | {
        name: value for name, value in schema.items() if name == "default"
    }


def _get_component(schema: Schema) -> str:
    return str(schema["$ref"]).rpartition("/")[2]


def _get_name(model: type[View]) -> str:
    """Return the name of a model, as in OpenAPI."""
    return model.__name__.removesuffix("View")


def _is_answer(status: int, response: Mapping[str, Any]) -> bool:
    """Return True if a status that is usually an error has an answer of the operation as its body."""
    return status >= 400 and "application/json" in response.get("content", {})


def _join_types(types: list[str], indent: int) -> str:
    line = " | ".join(types)
    if len(line) < WIDTH - 30:
        return line
    return "".join(f"\n{' ' * (indent + 2)}| {kind}" for kind in types)


def _write_interface(name: str, description: str, fields: list[str]) -> str:
    comment = _write_comment(description)
    if not fields:
        return f"{comment}export type {name} = Record<string, never>;\n"
    return "\n".join([f"{comment}export interface {name} {{", *fields, "}\n"])


def _write_comment(description: str, indent: str = "") -> str:
    text = " ".join(description.split()).replace("*/", "* /")
    if not text:
        return ""
    if len(indent) + len(text) + 7 <= WIDTH:
        return f"{indent}/** {text} */\n"
    lines = wrap(text, WIDTH - len(indent) - 3, break_long_words=False, break_on_hyphens=False)
    return "".join([f"{indent}/**\n", *(f"{indent} * {line}\n" for line in lines), f"{indent} */\n"])


def list_files() -> Iterator[tuple[Path, str]]:
    """Return every file, and its text."""
    generator = Generator()
    yield FOLDER / "models.ts", generator.build_models()
    yield FOLDER / "events.ts", generator.build_events()
    yield FOLDER / "operations.ts", generator.build_operations()


def main(arguments: list[str]) -> int:
    stale = 0
    for path, new_text in list_files():
        old_text = path.read_text(encoding="utf-8") if path.exists() else ""
        if "--check" not in arguments:
            path.write_text(new_text, encoding="utf-8")
        elif old_text != new_text:
            print(f"{path} is not up to date; run: python tools/typescript.py", file=sys.stderr)
            differences = unified_diff(old_text.splitlines(), new_text.splitlines(), lineterm="", n=1)
            print(*differences, sep="\n", file=sys.stderr)
            stale = 1
    return stale


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
