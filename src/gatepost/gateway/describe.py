"""
The OpenAPI of the gateway: what FastAPI knows of its routes, and the hot ones beside them, so that the description is
whole and a test can walk it.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec
from fastapi import FastAPI

from gatepost.gateway import problems, shapes
from gatepost.gateway.shapes import reference

_REF: Final = "#/components/schemas/{name}"
_KEY: Final = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "schema": {"type": "string", "maxLength": 255},
    "description": "a repeat with the same key is recognised and changes nothing",
}
#: a sentence, or as much of it as a title needs
_TITLE: Final = re.compile(r"[^.;:]+")


def describe(app: FastAPI) -> None:
    """Let the application describe itself, once."""
    made = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            whole = made()
            _add(whole)
            for operation in _operations(whole):
                _finish(operation, whole["components"]["schemas"])
            app.openapi_schema = whole
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _add(whole: dict[str, Any]) -> None:
    _, schemas = msgspec.json.schema_components(shapes.ALL, ref_template=_REF)
    components = whole.setdefault("components", {})
    components.setdefault("schemas", {}).update(schemas, Problem=problems.SCHEMA)
    components["securitySchemes"] = {
        "secretKey": {"type": "apiKey", "in": "header", "name": "x-secret-key"},
        "publicKey": {"type": "apiKey", "in": "header", "name": "x-public-key"},
        "token": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
    }
    whole["security"] = [{"secretKey": []}, {"publicKey": [], "token": []}]
    paths = whole["paths"]
    paths["/health"]["get"]["security"] = []


def _route(
    id: str,
    description: str,
    body: type | None,
    answer: dict[int | str, Any],
    example: Any,
    *,
    key: bool = True,
    path: list[str] = [],  # noqa: B006 (nobody changes it)
) -> dict[str, Any]:
    content = {"schema": {"$ref": reference(body)} if body else {}, "example": example}
    return {
        "description": description,
        "operationId": id,
        "tags": [id.partition("_")[0]],
        "parameters": [_path(name) for name in path] + ([_KEY] if key else []),
        "requestBody": {"required": True, "content": {"application/json": content}},
        "responses": _answers(answer | problems.documented(400, 401, 403, 404, 409, 413, 422, 503)),
    }


def _path(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}


def _answers(answers: dict[int | str, Any]) -> dict[str, Any]:
    return {str(status): answer for status, answer in answers.items()}


def _operations(whole: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for path in whole["paths"].values():
        yield from path.values()


def _finish(operation: dict[str, Any], schemas: dict[str, Any]) -> None:
    """Say in a title what the description begins with, and show what a body may look like."""
    found = _TITLE.match(operation["description"])
    operation["summary"] = found[0] if found else operation["description"]
    operation["tags"] = operation["tags"][-1:]
    for content in (one for answer in operation["responses"].values() for one in answer.get("content", {}).values()):
        if "$ref" in content["schema"]:  # and nothing beside it: what is not JSON is a string to FastAPI
            content["schema"] = {"$ref": content["schema"]["$ref"]}
    if "requestBody" in operation:
        # Every route reads JSON, and every body can be something else, or too large.
        operation["responses"] |= _answers(problems.documented(400, 413, 415))
        for content in operation["requestBody"]["content"].values():
            if "example" not in content:
                content["example"] = _example(content["schema"], schemas)


def _example(schema: dict[str, Any], schemas: dict[str, Any]) -> Any:
    named = next(one["$ref"] for one in (schema, *schema.get("anyOf", ())) if "$ref" in one)
    return schemas[named.rpartition("/")[2]]["examples"][0]
