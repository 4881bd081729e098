"""A number that no database could keep is refused at every door that takes one, and changes nothing."""

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.gateways import gateway, operations, whole
from tests.scenario.test_access import TABLE, World, furnished, rows
from tests.scenario.test_doors import assert_problem

#: as they are written in JSON and in a query
BEYOND: Final = ("9223372036854775808", "-9223372036854775809", "9" * 30, "9" * 5_000, "1e19", "1e400")


def numbers(shape: Mapping[str, Any]) -> bool:
    """Whether a field may be a number."""
    return shape.get("type") == "integer" or any(map(numbers, shape.get("anyOf", ())))


def bodies(operation: str) -> Iterator[tuple[Mapping[str, Any], str]]:
    """A good body of an operation, and each of its fields that may be a number."""
    for content in operations()[operation].get("requestBody", {}).get("content", {}).values():
        shape = whole()["components"]["schemas"].get(content["schema"].get("$ref", "").rpartition("/")[2], {})
        for name, field in shape.get("properties", {}).items():
            if numbers(field):
                yield content["example"], name


def queries(operation: str) -> list[str]:
    given = operations()[operation].get("parameters", ())
    return [one["name"] for one in given if one["in"] == "query" and numbers(one["schema"])]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with gateway(f"sqlite:///{tmp_path}/office.db") as made:
        yield World(made, furnished(made.store))


@pytest.mark.parametrize("operation", [name for name in operations() if queries(name) or any(bodies(name))])
async def test_a_number_beyond_64_bits(operation: str, world: World, tmp_path: Path) -> None:
    method, _, template = operation.partition(" ")
    path = template.format(**{name: world.things.get(word, word) for name, word in TABLE[operation].path.items()})
    before = rows(f"sqlite:///{tmp_path}/office.db")
    async with world.gateway.client() as admin:
        for number in BEYOND:
            for name in queries(operation):
                assert_problem(await admin.request(method, f"{path}?{name}={number}"), 422)
            for example, name in bodies(operation):
                body = json.dumps({**example, name: "?"}).replace('"?"', number)
                assert_problem(await admin.request(method, path, content=body.encode()), 400, 422)
    assert rows(f"sqlite:///{tmp_path}/office.db") == before


async def test_one_in_data_is_kept_as_it_was(world: World) -> None:
    async with world.gateway.client() as admin:
        for number in BEYOND[:3]:
            body = f'{{"to": "designer", "content": "x", "data": {{"n": [{number}]}}}}'
            assert (await admin.post("/api/inbox", content=body.encode())).status_code == 201
        listed = (await admin.get("/api/inbox/designer")).json()["items"]
        assert [item["data"] for item in listed] == [{"n": [int(number)]} for number in BEYOND[:3]]


@pytest.mark.parametrize("number", BEYOND)
async def test_nobody_resumes_there(number: str, world: World) -> None:
    for operation in (name for name in operations() if name.endswith("/stream")):
        path = operation.removeprefix("GET ").format(
            **{name: world.things.get(word, word) for name, word in TABLE[operation].path.items()}
        )
        for place in (number, f"{number}-1", f"1-{number}"):
            async with await world.gateway.listen(path, last=place) as stream:
                assert stream.status == 422
