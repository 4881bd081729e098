"""A number that no database could keep is refused at every door that takes one, and changes nothing."""

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.access_cases import CALL_CASES, World, create_owned_objects, read_database
from tests.gateways import build_openapi, list_operations, open_gateway
from tests.scenario.test_requests import assert_problem

#: as they are written in JSON and in a query
OVERSIZED_NUMBERS: Final = ("9223372036854775808", "-9223372036854775809", "9" * 30, "9" * 5_000, "1e19", "1e400")


def may_be_number(shape: Mapping[str, Any]) -> bool:
    """Whether a field may be a number."""
    return shape.get("type") == "integer" or any(map(may_be_number, shape.get("anyOf", ())))


def list_bodies(operation: str) -> Iterator[tuple[Mapping[str, Any], str]]:
    """A good body of an operation, and each of its fields that may be a number."""
    for content in list_operations()[operation].get("requestBody", {}).get("content", {}).values():
        shape = build_openapi()["components"]["schemas"].get(content["schema"].get("$ref", "").rpartition("/")[2], {})
        for name, field in shape.get("properties", {}).items():
            if may_be_number(field):
                yield content["example"], name


def list_query_names(operation: str) -> list[str]:
    parameters = list_operations()[operation].get("parameters", ())
    return [
        parameter["name"]
        for parameter in parameters
        if parameter["in"] == "query" and may_be_number(parameter["schema"])
    ]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with open_gateway(f"sqlite:///{tmp_path}/office.db") as gateway:
        yield World(gateway, create_owned_objects(gateway.store))


@pytest.mark.parametrize(
    "operation", [name for name in list_operations() if list_query_names(name) or any(list_bodies(name))]
)
async def test_a_number_beyond_64_bits(operation: str, world: World, tmp_path: Path) -> None:
    method, _, template = operation.partition(" ")
    path = template.format(**{name: world.values.get(word, word) for name, word in CALL_CASES[operation].path.items()})
    before = read_database(f"sqlite:///{tmp_path}/office.db")
    async with world.gateway.open_client() as admin:
        for number in OVERSIZED_NUMBERS:
            for name in list_query_names(operation):
                assert_problem(await admin.request(method, f"{path}?{name}={number}"), 422)
            for example, name in list_bodies(operation):
                body = json.dumps({**example, name: "?"}).replace('"?"', number)
                assert_problem(await admin.request(method, path, content=body.encode()), 400, 422)
    assert read_database(f"sqlite:///{tmp_path}/office.db") == before


async def test_one_in_data_is_kept_as_it_was(world: World) -> None:
    async with world.gateway.open_client() as admin:
        for number in OVERSIZED_NUMBERS[:3]:
            body = f'{{"to": "designer", "content": "x", "data": {{"n": [{number}]}}}}'
            assert (await admin.post("/api/inbox", content=body.encode())).status_code == 201
        items = (await admin.get("/api/inbox/designer")).json()["items"]
        assert [item["data"] for item in items] == [{"n": [int(number)]} for number in OVERSIZED_NUMBERS[:3]]


@pytest.mark.parametrize("number", OVERSIZED_NUMBERS)
async def test_nobody_resumes_there(number: str, world: World) -> None:
    for operation in (name for name in list_operations() if name.endswith("/stream")):
        path = operation.removeprefix("GET ").format(
            **{name: world.values.get(word, word) for name, word in CALL_CASES[operation].path.items()}
        )
        for cursor in (number, f"{number}-1", f"1-{number}"):
            async with await world.gateway.open_stream(path, last_event_id=cursor) as stream:
                assert stream.status == 422
