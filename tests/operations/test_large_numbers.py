"""A number that no database could keep is refused at every door that takes one, and changes nothing."""

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any, Final

import pytest

from tests.gateway.test_requests import assert_problem, fill_path
from tests.operations.access_cases import World, create_owned_objects, read_database
from tests.support.collected_failures import CollectedFailures
from tests.support.gateways.local_gateways import build_openapi, list_operations, open_gateway

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
    url = f"sqlite:///{tmp_path}/office.db"
    async with open_gateway(url) as gateway:
        yield World(gateway, create_owned_objects(gateway.store), url)


async def test_a_number_beyond_64_bits(world: World) -> None:
    before = read_database(world.url)
    with CollectedFailures() as failures:
        async with world.gateway.open_client() as admin:
            for operation, number in product(list_operations(), OVERSIZED_NUMBERS):
                method, path = fill_path(operation, world)
                for name in list_query_names(operation):
                    with failures.check(f"{operation}?{name}={number[:30]}"):
                        assert_problem(await admin.request(method, f"{path}?{name}={number}"), 422)
                for example, name in list_bodies(operation):
                    with failures.check(f"{operation} with {name} {number[:30]}"):
                        body = json.dumps({**example, name: "?"}).replace('"?"', number)
                        assert_problem(await admin.request(method, path, content=body.encode()), 400, 422)
    assert failures.count > 300
    assert read_database(world.url) == before


async def test_one_in_data_is_kept_as_it_was(world: World) -> None:
    async with world.gateway.open_client() as admin:
        for number in OVERSIZED_NUMBERS[:3]:
            body = f'{{"to": "designer", "content": "x", "data": {{"n": [{number}]}}}}'
            assert (await admin.post("/api/inbox", content=body.encode())).status_code == 201
        items = (await admin.get("/api/inbox/designer")).json()["items"]
        assert [item["data"] for item in items] == [{"n": [int(number)]} for number in OVERSIZED_NUMBERS[:3]]


async def test_nobody_resumes_there(world: World) -> None:
    streams = [name for name in list_operations() if name.endswith("/stream")]
    with CollectedFailures() as failures:
        for operation, number in product(streams, OVERSIZED_NUMBERS):
            _, path = fill_path(operation, world)
            for cursor in (number, f"{number}-1", f"1-{number}"):
                with failures.check(f"{operation} after {cursor[:40]}"):
                    async with await world.gateway.open_stream(path, last_event_id=cursor) as stream:
                        assert stream.status == 422
