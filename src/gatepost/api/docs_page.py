"""A page that lists all operations. It is plain HTML: it needs no script and nothing from elsewhere."""

import json
from collections.abc import Iterator
from html import escape
from typing import Any, Final

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
