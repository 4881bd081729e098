"""
A key learns nothing about names it may not see: one that exists and one that does not get the same refusal, word for
word but for the name that was sent. Ids that nobody can guess are not looked at here.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.spaces import actions as spaces
from tests.operations.access_cases import (
    CALL_CASES,
    ENTITY_CREDENTIALS,
    EXPECT_OPEN,
    World,
    create_credentials,
    create_owned_objects,
)
from tests.support.gateways.local_gateways import Gateway, list_operations, open_gateway

#: there is somebody of every kind whom the designer is not: an agent, a person, one who is retired, and one by an alias
PEOPLE: Final = ("analyst", "husam", "developer", "bead-42", "nobody-here")
SPACES: Final = ("q4-report", "archive", "nowhere")
TRIGGERS: Final = ("github-main", "no-such-trigger")

#: what holds a name besides a path, and which names it may hold
QUERIES: Final[Sequence[tuple[str, str, Sequence[str]]]] = (
    ("GET /api/runs", "agent", PEOPLE),
    ("GET /api/spaces", "member", PEOPLE),
    ("GET /api/spaces/{id}/messages", "member", PEOPLE),
    ("GET /api/spaces/{id}/stream", "member", PEOPLE),
    ("GET /api/stream", "inbox", PEOPLE),
    ("GET /api/stream", "space", SPACES),
    ("GET /api/plans", "owner", PEOPLE),
    ("GET /api/gates", "owner", PEOPLE),
    ("GET /api/gates", "waiter", PEOPLE),
    ("GET /api/decisions", "asker", PEOPLE),
    ("GET /api/decisions", "asked", PEOPLE),
    ("DELETE /api/decisions/{id}", "by", PEOPLE),
)
BODIES: Final[Sequence[tuple[str, str, Sequence[str]]]] = (
    ("POST /api/inbox", "sender", PEOPLE),
    ("POST /api/events/{id}/done", "name", PEOPLE),
    ("POST /api/spaces/{id}/messages", "sender", PEOPLE),
    ("PATCH /api/spaces/{id}/read", "name", PEOPLE),
    ("POST /api/plans", "owner", PEOPLE),
    ("POST /api/gates", "madeBy", PEOPLE),
    ("PUT /api/gates/{id}/resolution", "by", PEOPLE),
    ("POST /api/decisions", "asker", PEOPLE),
    ("PUT /api/decisions/{id}/answer", "by", PEOPLE),
)


def list_names_for(path: str) -> Sequence[str]:
    """The names to put where the path of an operation has one; none if it has ids that nobody can guess."""
    if path.startswith("/api/spaces/{id}/members/"):
        return ()
    if path.startswith("/api/spaces/{id}"):
        return SPACES
    if path.startswith("/api/triggers/"):
        return TRIGGERS
    return PEOPLE if "{name}" in path else ()


async def call_and_mask(
    world: World, operation: str, headers: Mapping[str, str], name: str, *, query: str = "", field: str = ""
) -> Any:
    """Call an operation with a name in its path, its query or its body; return what it is told but for the name."""
    method, _, path = operation.partition(" ")
    path_values = {"id": world.values[CALL_CASES[operation].path["id"]]} if "id" in CALL_CASES[operation].path else {}
    if not query and not field:
        path_values |= {"id": name, "name": name}
    body = None
    if "requestBody" in list_operations()[operation]:
        [content] = list_operations()[operation]["requestBody"]["content"].values()
        body = content["example"] | ({field: name} if field else {})
    async with world.gateway.open_client(x_nobody="yes") as client:
        answer = await client.request(
            method, path.format(**path_values), params={query: name} if query else {}, json=body, headers=dict(headers)
        )
    text = json.dumps(answer.json())
    return answer.status_code, text.replace(name, "NAME")


def create_world(gateway: Gateway) -> World:
    values = create_owned_objects(gateway.store)
    gateway.store.run_sync(directory.update, "analyst", aliases=["bead-42"])
    gateway.store.run_sync(directory.retire, "developer")
    gateway.store.run_sync(spaces.create, name="archive", members=["husam"])
    gateway.store.run_sync(spaces.archive, "archive")
    return World(gateway, values)


@pytest.mark.parametrize("credential", [*ENTITY_CREDENTIALS, "trigger's key"])
async def test_a_name_that_is_not_there_and_one_that_may_not_be_seen_are_told_alike(
    credential: str, tmp_path: Path
) -> None:
    wrong: list[str] = []
    async with open_gateway(f"sqlite:///{tmp_path}/office.db") as gateway:
        world = create_world(gateway)
        headers = create_credentials(world)[credential]
        cases = [(operation, "", "", list_names_for(operation.partition(" ")[2])) for operation in CALL_CASES]
        cases += [(operation, query, "", names) for operation, query, names in QUERIES]
        cases += [(operation, "", field, names) for operation, field, names in BODIES]
        for operation, query, field, names in cases:
            if not names or (credential in ENTITY_CREDENTIALS and CALL_CASES[operation].expected == EXPECT_OPEN):
                continue
            answers_by_name = {
                name: await call_and_mask(world, operation, headers, name, query=query, field=field) for name in names
            }
            if len(set(answers_by_name.values())) != 1 or {status for status, _ in answers_by_name.values()} != {403}:
                wrong.append(f"{operation} {query or field}: {answers_by_name}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("id", SPACES)
async def test_a_member_cannot_be_taken_from_a_space_by_others(id: str, tmp_path: Path) -> None:
    """Nor does whoever leaves learn whether there is such a space."""
    async with open_gateway(f"sqlite:///{tmp_path}/office.db") as gateway:
        world = create_world(gateway)
        for credential in ENTITY_CREDENTIALS:
            async with gateway.open_client(
                x_nobody="yes", **_underscore_names(create_credentials(world)[credential])
            ) as caller:
                answers_by_name = {
                    name: (await caller.delete(f"/api/spaces/{id}/members/{name}")).text.replace(name, "NAME")
                    for name in PEOPLE
                }
                assert len(set(answers_by_name.values())) == 1, answers_by_name
                own_answer = await caller.delete(f"/api/spaces/{id}/members/designer")
                assert own_answer.status_code == 403
                assert own_answer.json()["detail"] == f"'designer' is not a member of the space {id!r}"


async def test_an_alias_is_as_good_as_the_name(tmp_path: Path) -> None:
    async with open_gateway(f"sqlite:///{tmp_path}/office.db") as gateway:
        gateway.store.run_sync(directory.register, EntitySpec(name="quinn", kind=EntityKind.AGENT, aliases=["bead-7"]))
        call = {"serviceName": "jira"}
        async with gateway.open_client(x_secret_key=gateway.create_key("agent", "quinn")) as quinn:
            assert (await quinn.get("/api/inbox/bead-7")).status_code == 200
            assert (await quinn.get("/api/agents/bead-7/runs")).status_code == 200
        async with gateway.open_client(x_secret_key=gateway.create_key("trigger", "quinn")) as service:
            assert (await service.post("/api/agents/bead-7/trigger", json=call)).status_code == 202


def _underscore_names(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("-", "_"): value for name, value in headers.items()}
