"""
Describe all operations as OpenAPI 3.1: endpoints, parameters, bodies with examples, answers, and every error. And as a
page for people, which is plain HTML: it needs no script and nothing from elsewhere.

The description is made from the declarations, so it cannot differ from what the gateway does.
"""

import json
import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from hashlib import sha256
from html import escape
from typing import Any, Final

import msgspec

from gatepost.gateway.streams.event_models import CONTROL_EVENTS, EVENTS
from gatepost.operations import problems
from gatepost.operations.decoding import get_decoder
from gatepost.operations.operation import Kind, Operation, Repetition, StreamedView, View

_REFERENCE: Final = "#/components/schemas/"
_EVENTS: Final = {**CONTROL_EVENTS, **EVENTS}
_EVENT_MODELS: Final = dict.fromkeys(model for models in _EVENTS.values() for model in models)
_ABOUT: Final = """
One durable inbox for every AI agent and every person who works with agents.

Send a secret key, in `x-secret-key` or as a bearer token, or `x-public-key` with a bearer JWT. With the administrator's
key, `x-act-as` names the entity to act as. Errors are problems (RFC 9457) with a stable `type`. Lists
are `{items, next}` and go on with `after`. Writes take an `Idempotency-Key`.
"""
_SECURITY: Final = {
    "secretKey": {"type": "apiKey", "in": "header", "name": "x-secret-key"},
    "publicKey": {"type": "apiKey", "in": "header", "name": "x-public-key"},
    "token": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
}
_KEY_PARAMETER: Final = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "schema": {"type": "string", "maxLength": 257},
}
_KEY_DESCRIPTIONS: Final = {
    Repetition.KEYED: "a repeat with the same key and body gets the same answer and changes nothing",
    Repetition.DEDUP: "a repeat with the same key is recognised and changes nothing",
}
_LAST_EVENT_PARAMETER: Final = {
    "name": "Last-Event-ID",
    "in": "header",
    "required": False,
    "schema": {"type": "string"},
    "description": "the last `id:` that was read",
}
#: the first sentence of a description, or as much of it as a title needs
_TITLE: Final = re.compile(r"[^.;:]+")
_STATUSES: Final = {200: "Done", 201: "Created", 202: "Accepted", 204: "Done"}
_STYLE: Final = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; }
summary { cursor: pointer; padding: .3rem 0; }
summary code { font-weight: bold; }
pre { overflow-x: auto; padding: .6rem; border: 1px solid #8886; border-radius: .3rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .2rem .6rem .2rem 0; border-bottom: 1px solid #8884; }
details > div { padding: 0 0 1rem 1.2rem; }
.method { display: inline-block; min-width: 4.5rem; }
"""
#: what a browser lets the page do: show its style
DOCS_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        f"style-src 'sha256-{b64encode(sha256(_STYLE.encode()).digest()).decode()}'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)


def build_openapi(operations: Sequence[Operation], version: str) -> dict[str, Any]:
    """Return the OpenAPI document of operations."""
    described = _Types(operations)
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _describe(operation, described)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Gatepost", "version": version, "description": _ABOUT},
        "security": [{"secretKey": []}, {"publicKey": [], "token": []}],
        "paths": paths,
        "components": {
            "schemas": dict(sorted(_list_components(described).items())),
            "securitySchemes": _SECURITY,
        },
    }


class _Types:
    """The schemas of all types that operations use; types with a name are components."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        types: list[Any] = [StreamedView, *_EVENT_MODELS]
        for operation in operations:
            types += _list_types(operation)
        schemas, components = msgspec.json.schema_components(types, ref_template=_REFERENCE + "{name}")
        self._schemas = {repr(kind): _finish(schema) for kind, schema in zip(types, schemas, strict=True)}
        self.components = {_name(name): _finish(schema) for name, schema in components.items()}

    def get(self, kind: Any) -> dict[str, Any]:
        return dict(self._schemas[repr(kind)])


def _list_components(types: _Types) -> dict[str, Any]:
    """Return the models by name. An event of a stream is one of those that there are, each with its own data."""
    streamed = types.components["Streamed"]
    choices = [_describe_event(event, models, types) for event, models in _EVENTS.items()]
    return types.components | {"Problem": problems.SCHEMA, "Streamed": streamed | {"oneOf": choices}}


def _describe_event(event: str, models: Sequence[type[View]], types: _Types) -> dict[str, Any]:
    schemas = [types.get(model) for model in models]
    data = {
        "type": "string",
        "contentMediaType": "application/json",
        "contentSchema": schemas[0] if len(schemas) == 1 else {"anyOf": schemas},
    }
    return {"properties": {"event": {"const": event}, "data": data}}


def _list_types(operation: Operation) -> Iterator[Any]:
    if operation.answer is not None and operation.kind is not Kind.STREAM:
        yield operation.answer
    if operation.has_body and operation.kind is not Kind.RAW:
        yield get_decoder(operation).body
    for field in msgspec.structs.fields(operation.request):
        yield field.type


def _describe(operation: Operation, types: _Types) -> dict[str, Any]:
    description = " ".join((operation.request.__doc__ or "").split())
    title = _TITLE.match(description)
    document: dict[str, Any] = {
        "operationId": operation.name[0].lower() + operation.name[1:],
        "tags": [operation.tag],
        "summary": title[0] if title else description,
        "description": description,
        "parameters": list(_list_parameters(operation, types)),
        "responses": _list_responses(operation, types),
    }
    if not operation.access.needs_credential:
        document["security"] = []
    if operation.has_body and (body := _describe_body(operation, types)):
        document["requestBody"] = body
    return document


def _list_parameters(operation: Operation, types: _Types) -> Iterator[dict[str, Any]]:
    for field in msgspec.structs.fields(operation.request):
        if field.name in operation.path_fields:
            yield {"name": field.encode_name, "in": "path", "required": True, "schema": types.get(field.type)}
        elif not operation.has_body or operation.kind is Kind.RAW:  # the body of a raw one is not ours
            yield _describe_query(field, types.get(field.type))
    if operation.kind is Kind.STREAM:
        yield _LAST_EVENT_PARAMETER
    if operation.repetition in _KEY_DESCRIPTIONS:
        yield _KEY_PARAMETER | {"description": _KEY_DESCRIPTIONS[operation.repetition]}


def _describe_query(field: Any, schema: dict[str, Any]) -> dict[str, Any]:
    """A parameter that is not given is absent: null cannot be written in a query."""
    kinds = [kind for kind in schema.get("anyOf", ()) if kind.get("type") != "null"]
    if len(kinds) == 1:
        schema = {name: value for name, value in schema.items() if name != "anyOf"} | kinds[0]
    document = {"name": field.encode_name, "in": "query", "required": field.required, "schema": schema}
    if description := schema.pop("description", None):
        document["description"] = description
    if field.default not in (msgspec.NODEFAULT, None, ()):
        schema["default"] = field.default
    return document


def _describe_body(operation: Operation, types: _Types) -> dict[str, Any] | None:
    decoder = get_decoder(operation)
    if operation.kind is not Kind.RAW and not msgspec.structs.fields(decoder.body):
        return None
    schema: dict[str, Any] = {} if operation.kind is Kind.RAW else types.get(decoder.body)
    if decoder.is_body_optional and operation.kind is not Kind.RAW:
        schema = {"anyOf": [schema, {"type": "null"}]}
    content: dict[str, Any] = {"schema": schema}
    if operation.example is not None:
        content["example"] = operation.example
    return {"required": not decoder.is_body_optional, "content": {"application/json": content}}


def _list_responses(operation: Operation, types: _Types) -> dict[str, Any]:
    answers: dict[int, Any] = {operation.status: {"description": _STATUSES[operation.status]}}
    if operation.kind is Kind.STREAM:
        answers[200] = {
            "description": "Server-sent events, until the reader leaves",
            "content": {"text/event-stream": {"schema": types.get(StreamedView)}},
        }
    elif operation.answer is not None:
        content = {"application/json": {"schema": types.get(operation.answer)}}
        answers[operation.status] = {"description": _STATUSES[operation.status], "content": content}
    answers |= operation.responses
    statuses = {431, *(error.status for error in operation.errors)}
    if operation.access.needs_credential:
        statuses |= {401, 403, 422, 503}
    if operation.has_body:
        statuses |= {400, 413, 422}
        statuses |= {415} if operation.checks_media else set()
    for status in statuses - set(operation.responses):
        answers[status] = {
            "description": problems.TITLES[status],
            "content": {problems.MEDIA_TYPE: {"schema": {"$ref": f"{_REFERENCE}Problem"}}},
        }
    return {str(status): answer for status, answer in sorted(answers.items())}


def _name(name: str) -> str:
    """`GateView` is called `Gate`."""
    return name.removesuffix("View")


def _finish(schema: Any) -> Any:
    """Return a schema with the public names of models, and with the type of enums, which msgspec leaves out."""
    match schema:
        case {"$ref": str(reference), **rest}:
            return {"$ref": _REFERENCE + _name(reference.removeprefix(_REFERENCE)), **_finish(rest)}
        case dict():
            document = {name: _finish(value) for name, value in schema.items()}
            if "title" in document and isinstance(document["title"], str):
                document["title"] = _name(document["title"])
            values = document.get("enum")
            if values and "type" not in document:
                document["type"] = "integer" if all(type(value) is int for value in values) else "string"
            return document
        case list() | tuple():
            return [_finish(value) for value in schema]
        case _:
            return schema


def build_docs_page(openapi: dict[str, Any]) -> str:
    """Return the page for an OpenAPI document."""
    by_tag: dict[str, list[tuple[str, str, dict[str, Any]]]] = {}
    for path, methods in openapi["paths"].items():
        for method, operation in methods.items():
            by_tag.setdefault(operation["tags"][0], []).append((method.upper(), path, operation))
    info = openapi["info"]
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(info['title'])} API</title><style>{_STYLE}</style></head><body>",
        f"<h1>{escape(info['title'])} API {escape(info['version'])}</h1>",
        *(f"<p>{_format(text)}</p>" for text in info["description"].strip().split("\n\n")),
        '<p>For programs: <a href="openapi.json">openapi.json</a> (OpenAPI 3.1).</p>',
        "<p>" + " | ".join(f'<a href="#{escape(tag)}">{escape(tag)}</a>' for tag in sorted(by_tag)) + "</p>",
    ]
    for tag in sorted(by_tag):
        parts.append(f'<h2 id="{escape(tag)}">{escape(tag)}</h2>')
        for method, path, operation in by_tag[tag]:
            parts += _build_operation(method, path, operation)
    schemas = openapi["components"]["schemas"]
    parts.append('<h2 id="models">models</h2>')
    for name, schema in schemas.items():
        text = escape(json.dumps(schema, indent=2, ensure_ascii=False))
        parts.append(f'<details id="model-{escape(name)}"><summary><code>{escape(name)}</code></summary>')
        parts.append(f"<div><pre>{text}</pre></div></details>")
    return "\n".join([*parts, "</body></html>"])


def _build_operation(method: str, path: str, operation: dict[str, Any]) -> Iterator[str]:
    yield f'<details id="{escape(operation["operationId"])}"><summary><code class="method">{method}</code>'
    yield f"<code>{escape(path)}</code> {_format(operation['summary'])}</summary><div>"
    yield f"<p>{_format(operation['description'])}</p>"
    if operation.get("parameters"):
        yield "<table><tr><th>parameter</th><th>in</th><th>type</th><th></th></tr>"
        for parameter in operation["parameters"]:
            cells = (
                f"<code>{escape(parameter['name'])}</code>",
                parameter["in"],
                _describe_schema(parameter["schema"]),
                _format(parameter.get("description", "")),
            )
            yield "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
        yield "</table>"
    if "requestBody" in operation:
        for content in operation["requestBody"]["content"].values():
            yield f"<p>Body: {_describe_schema(content['schema'])}</p>"
            if "example" in content:
                yield f"<pre>{escape(json.dumps(content['example'], indent=2, ensure_ascii=False))}</pre>"
    yield "<table><tr><th>status</th><th></th><th>answer</th></tr>"
    for status, answer in operation["responses"].items():
        kinds = ", ".join(_describe_schema(content["schema"]) for content in answer.get("content", {}).values())
        yield f"<tr><td>{status}</td><td>{escape(answer['description'])}</td><td>{kinds}</td></tr>"
    yield "</table></div></details>"


def _describe_schema(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f'<a href="#model-{name}">{name}</a>'
    if "anyOf" in schema:
        return " or ".join(_describe_schema(inner) for inner in schema["anyOf"])
    if schema.get("type") == "array":
        return f"list of {_describe_schema(schema.get('items', {}))}"
    return escape(str(schema.get("type", "any")))


def _format(text: str) -> str:
    """Return text with `code` marked."""
    pieces = escape(text).split("`")
    return "".join(f"<code>{piece}</code>" if number % 2 else piece for number, piece in enumerate(pieces))
