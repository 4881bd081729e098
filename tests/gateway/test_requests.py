"""What a gateway does with requests that come twice, are wrong, too large or not what they say."""

import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest
import structlog

from gatepost.gateway import http_exchange
from gatepost.inbox.event import Push
from gatepost.inbox.push import actions as push
from gatepost.operations import problems
from gatepost.spaces import actions as spaces
from tests.operations.access_cases import CALL_CASES, World, create_owned_objects, read_database
from tests.operations.filled_database import FilledDatabase
from tests.support.collected_failures import CollectedFailures
from tests.support.gateways.local_gateways import Gateway, create_token, list_operations, open_gateway


def _is_single(parameter: Mapping[str, Any]) -> bool:
    return bool(parameter["in"] == "query" and parameter["schema"].get("type") != "array")


#: operations whose answers are kept under an idempotency key
IDEMPOTENT_OPERATIONS: Final = [
    name
    for name, operation in list_operations().items()
    if any(parameter["name"] == "Idempotency-Key" for parameter in operation.get("parameters", ()))
    and name not in ("POST /api/inbox", "POST /api/agents/{name}/trigger")
]
#: the parameters of each query that are no lists; a webhook needs its secret first (test_webhook_wake.py)
SINGLE_PARAMETERS: Final = {
    name: parameter_names
    for name, operation in list_operations().items()
    if not name.startswith("POST /hooks/")
    and (
        parameter_names := [parameter["name"] for parameter in operation.get("parameters", ()) if _is_single(parameter)]
    )
}
BODY_OPERATIONS: Final = [name for name, operation in list_operations().items() if "requestBody" in operation]

#: the databases are the same to it: which one it is shows elsewhere
POSTGRES_BY_NIGHT = True


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with open_gateway(f"sqlite:///{tmp_path}/office.db") as gateway:
        yield World(gateway, create_owned_objects(gateway.store))


async def open_worlds(folder: Path) -> AsyncIterator[tuple[str, World]]:
    """Yield for each ledger that an operation needs its URL, and a world that has it."""
    filled_database = FilledDatabase(folder)
    for ledger in sorted({case.ledger for case in CALL_CASES.values()}):
        async with filled_database.open_world(ledger) as world:
            yield ledger, world


def select_operations(names: Sequence[str], ledger: str) -> list[str]:
    return [name for name in names if CALL_CASES[name].ledger == ledger]


def fill_path(operation: str, world: World) -> tuple[str, str]:
    """Return the method of an operation, and its path with the names of what is there."""
    method, _, template = operation.partition(" ")
    words = CALL_CASES[operation].path
    return method, template.format(**{name: world.values.get(word, word) for name, word in words.items()})


def assert_problem(answer: httpx2.Response, *statuses: int) -> None:
    assert answer.status_code in statuses, answer.text
    assert answer.headers["content-type"] == problems.MEDIA_TYPE
    body = answer.json()
    assert body.keys() >= {"type", "title", "status", "detail"}
    assert body["type"].startswith("urn:gatepost:problem:")
    assert body["status"] == answer.status_code
    assert body["detail"]
    assert (answer.status_code == 401) == ("www-authenticate" in answer.headers)


def test_every_write_takes_an_idempotency_key() -> None:
    """But those that are known by something else, or whose answer must not be kept."""
    operations_without_key = {
        name
        for name, operation in list_operations().items()
        if name.partition(" ")[0] != "GET"
        and not any(parameter["name"] == "Idempotency-Key" for parameter in operation.get("parameters", ()))
    }
    assert operations_without_key <= {
        "POST /api/agents/{name}/wake",  # changes nothing
        "POST /api/inbox/batch",  # each push has its own
        "POST /api/inbox/{name}/drain",  # gives out what it gives out
        "POST /api/inbox/{name}/claim",
        "POST /api/decisions/{id}/claim",
        "POST /api/inbox/{name}/seen",  # a repeat changes nothing
        "PATCH /api/spaces/{id}/read",
        "POST /api/runs/{id}/replay",  # changes nothing
        "POST /api/triggers/{name}/test",
        "POST /api/keys",  # the answer is a secret
        "POST /api/sign-in/links",
        "POST /api/sign-in",
        "DELETE /api/sign-in",  # a repeat changes nothing
        "POST /hooks/{trigger}",  # the scheme has its own
        "POST /channels/telegram/{bot}",  # an update has a number
    }


async def test_a_repeat_gets_the_same_answer_and_changes_nothing(tmp_path: Path) -> None:
    filled_database = FilledDatabase(tmp_path)
    with CollectedFailures() as failures:
        for operation in IDEMPOTENT_OPERATIONS:
            case = CALL_CASES[operation]
            async with filled_database.open_world(case.ledger) as world:
                with failures.check(operation):
                    headers = {"x-secret-key": world.gateway.admin_key}
                    first = await world.call(operation, headers | {"idempotency-key": '"once"'})
                    assert first[0] == case.admin_status
                    after = read_database(world.url)
                    assert await world.call(operation, headers | {"idempotency-key": "once"}) == first
                    assert read_database(world.url) == after


async def test_a_key_belongs_to_one_request_of_one_caller(gateway: Gateway) -> None:
    key, path = {"idempotency-key": "k"}, "/api/spaces/q4-report/messages"
    hello_body = {"sender": "husam", "content": "hello"}
    async with (
        gateway.open_client() as admin,
        gateway.open_client(x_secret_key=gateway.create_key("agent", "analyst")) as analyst,
    ):
        first_answer = await admin.post(path, json=hello_body, headers=key)
        other_answer = await admin.post(path, json=hello_body | {"content": "other"}, headers=key)
        assert_problem(other_answer, 422)
        assert other_answer.json()["type"].endswith("idempotency-key-reused")
        analyst_answer = await analyst.post(path, json={"content": "mine"}, headers=key)
        plan_answer = await admin.post(
            "/api/plans", json={"owner": "analyst", "name": "p", "runAfter": "1h"}, headers=key
        )
        assert [first_answer.status_code, analyst_answer.status_code, plan_answer.status_code] == [201, 201, 201]
        repeat_answer = await admin.post(path, json=hello_body, headers=key)
        assert repeat_answer.json() == first_answer.json()
    assert [message.content for message in gateway.store.read_sync(spaces.read, "q4-report")] == ["hello", "mine"]


async def test_who_was_refused_may_try_again_with_the_same_key(gateway: Gateway) -> None:
    async with gateway.open_client(x_secret_key=gateway.admin_key, idempotency_key="k") as admin:
        body = {"name": "late", "members": ["newcomer"]}
        assert_problem(await admin.post("/api/spaces", json=body), 404)
        assert (await admin.post("/api/agents", json={"name": "newcomer"})).status_code == 201
        assert (await admin.post("/api/spaces", json=body)).status_code == 201


async def test_the_hot_routes_know_a_repeat_by_the_key(gateway: Gateway) -> None:
    call = {"serviceName": "jira", "payload": {"a": 1}}
    async with gateway.open_client() as admin:
        for path, body in (("/api/inbox", {"to": "analyst"}), ("/api/agents/analyst/trigger", call)):
            answers = [
                (await admin.post(path, json=body, headers={"idempotency-key": key})).json()
                for key in ('"a key"', "a key", r'"a\"key\\"', r'a"key\ '.strip())
            ]
            assert len({answer_body["eventId"] for answer_body in answers}) == 2
            assert answers[0]["eventId"] == answers[1]["eventId"]
            assert answers[2]["eventId"] == answers[3]["eventId"]
        keyed_body = {"to": "analyst", "dedupKey": "one"}
        assert (await admin.post("/api/inbox", json=keyed_body, headers={"idempotency-key": "one"})).status_code == 201
        assert_problem(await admin.post("/api/inbox", json=keyed_body, headers={"idempotency-key": "two"}), 422)


BAD_KEYS: Final = (b"", b'""', b" ", b"x" * 256, b'"' + b"x" * 256 + b'"', b"\x01", b"\xff")


async def test_not_everything_is_a_key(gateway: Gateway) -> None:
    bodies = {"/api/inbox": {"to": "analyst"}, "/api/spaces": {"name": "x"}}
    async with gateway.open_client() as admin:
        with CollectedFailures() as failures:
            for key, (path, body) in product(BAD_KEYS, bodies.items()):
                with failures.check(f"{path} with {key!r}"):
                    answer = await admin.post(path, json=body, headers=[(b"Idempotency-Key", key)])
                    if key == b"\xff":
                        assert answer.status_code in (201, 422)
                    else:
                        assert_problem(answer, 422)


DEEP_JSON: Final = b'{"data":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
#: what is no request at all, and how it is refused
INVALID_BODIES: Final = {
    "nothing": (b"", (400, 422)),
    "half": (b"{", (400,)),
    "not UTF-8": (b'{"name": "\xff"}', (400, 422)),
    "two": (b"{} {}", (400, 422)),
    "not an object": (b"[]", (422,)),
    "a string": (b'"x"', (422,)),
    "not a number": (b'{"data": NaN}', (400, 422)),
    "nested very deep": (DEEP_JSON, (400, 413, 422)),
    "unknown": (b'{"nosuchfield": 1}', (400, 401, 422)),
}


#: operations that refuse what they are sent before they read it
OTHER_STATUSES: Final = {
    "POST /hooks/{trigger}": (401,),
    "POST /channels/telegram/{bot}": (404,),
    "POST /api/sign-in": (421,),  # the page is not at this name
}


async def test_what_is_no_request_is_refused(tmp_path: Path) -> None:
    """Whoever may leave the body out altogether may do so."""
    with CollectedFailures() as failures:
        async for ledger, world in open_worlds(tmp_path):
            async with world.gateway.open_client() as admin:
                before = read_database(world.url)
                for operation in select_operations(BODY_OPERATIONS, ledger):
                    method, path = fill_path(operation, world)
                    is_optional = not list_operations()[operation]["requestBody"].get("required", False)
                    for name, (body, statuses) in INVALID_BODIES.items():
                        if name == "nothing" and is_optional:
                            continue
                        with failures.check(f"{operation}: {name}"):
                            headers = {"content-type": "application/json"}
                            answer = await admin.request(method, path, content=body, headers=headers)
                            assert_problem(answer, *OTHER_STATUSES.get(operation, statuses))
                    with failures.check(f"{operation} changes nothing"):
                        assert read_database(world.url) == before


async def test_nul_is_refused_wherever_it_is(tmp_path: Path) -> None:
    operations = [name for name in BODY_OPERATIONS if name not in OTHER_STATUSES]  # test_sign_in.py has the last
    with CollectedFailures() as failures:
        async for ledger, world in open_worlds(tmp_path):
            async with world.gateway.open_client() as admin:
                before = read_database(world.url)
                for operation in select_operations(operations, ledger):
                    method, path = fill_path(operation, world)
                    [content] = list_operations()[operation]["requestBody"]["content"].values()
                    texts = [field for field, value in content["example"].items() if isinstance(value, str)]
                    for field, bad in product(texts, ("a\x00b", "\ud800")):
                        with failures.check(f"{operation}: {field} is {bad!r}"):
                            body = json.dumps(content["example"] | {field: bad}).encode()
                            assert_problem(await admin.request(method, path, content=body), 400, 404, 409, 422)
                    with failures.check(f"{operation} changes nothing"):
                        assert read_database(world.url) == before


ODD_PARTS: Final = ("%00", "a%00b", "%ff", "%ed%a0%80", "%E2%80%AE", "a" * 5000, "..", "%2e%2e", "%2F")


async def test_what_is_odd_in_a_path_does_no_harm(world: World) -> None:
    async with world.gateway.open_client() as admin:
        with CollectedFailures() as failures:
            for operation, part in product(CALL_CASES, ODD_PARTS):
                method, _, template = operation.partition(" ")
                if "{" not in template or template.endswith("/stream"):
                    continue
                with failures.check(f"{operation} with {part[:20]}"):
                    odd_path = template.replace("{name}", part).replace("{id}", part).replace("{trigger}", part)
                    url = httpx2.URL("http://gateway").copy_with(raw_path=odd_path.encode())
                    body = {"content": "x", "sender": "husam"} if method != "GET" else None
                    answer = await admin.request(method, url, json=body)
                    assert answer.status_code in (200, 400, 401, 404, 405, 409, 422), answer.text
                    if answer.status_code >= 400:
                        assert_problem(answer, answer.status_code)


@pytest.mark.parametrize("media", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
async def test_what_is_not_sent_as_json_is_json_or_refused(media: str, gateway: Gateway) -> None:
    headers = {"content-type": media} if media else {}
    async with gateway.open_client() as admin:
        for path, body in (
            ("/api/inbox", b'{"to": "analyst"}'),
            ("/api/agents", b'{"name": "someone"}'),
            ("/api/agents", b"name=someone"),
        ):
            answer = await admin.post(path, content=body, headers=headers)
            if answer.status_code >= 300:
                assert_problem(answer, 400, 415, 422)


async def test_limits_are_kept_and_nothing_is_stored_past_them(
    gateway: Gateway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_exchange, "_DISCARD_TIME", 0.0)  # nobody goes on sending
    before = read_database(f"sqlite:///{tmp_path}/office.db")
    oversized_text, oversized_bytes = "x" * (256 * 1024 + 1), "é" * (128 * 1024 + 1)
    data = {"x": "y" * (1024 * 1024)}
    async with gateway.open_client() as admin:
        for body in (
            {"content": oversized_text},
            {"content": oversized_bytes},
            {"data": data},
            {"subject": "x" * 1_001},
        ):
            assert_problem(await admin.post("/api/inbox", json={"to": "analyst"} | body), 413)
        for message in ({"content": oversized_text}, {"content": oversized_bytes}, {"content": "x", "data": data}):
            answer = await admin.post("/api/spaces/q4-report/messages", json={"sender": "husam"} | message)
            assert_problem(answer, 413)
        oversized_body = b'{"to": "analyst", "content": "' + b"x" * (4 * 1024 * 1024) + b'"}'
        for path in ("/api/inbox", "/api/spaces", "/api/inbox/analyst/drain"):
            assert_problem(await admin.post(path, content=oversized_body), 413)
        assert_problem(await admin.post("/hooks/none", content=oversized_body), 404)
        pushes = [{"to": "analyst"}] * 1_001
        assert_problem(await admin.post("/api/inbox/batch", json={"pushes": pushes}), 422)
        assert read_database(f"sqlite:///{tmp_path}/office.db") == before
        largest_answer = await admin.post("/api/inbox", json={"to": "analyst", "content": oversized_text[:-1]})
        assert largest_answer.status_code == 201


async def test_one_bad_push_of_many_is_refused_alone(gateway: Gateway) -> None:
    pushes: list[Any] = [
        {"to": "analyst", "content": "first"},
        {"to": "nobody"},
        {"to": "analyst", "type": "nonsense"},
        {"to": "analyst", "content": 7},
        {"to": "analyst", "typo": "x"},
        "not a push",
        {"to": "analyst", "content": "a\x00b"},
        {"to": "analyst", "content": "x" * (256 * 1024 + 1)},
        {"to": "analyst", "ttl": "soon"},
        {"to": "analyst", "content": "last", "dedupKey": "k"},
        {"to": "analyst", "content": "again", "dedupKey": "k"},
    ]
    async with gateway.open_client() as admin:
        answer = await admin.post("/api/inbox/batch", json={"pushes": pushes})
        assert answer.status_code == 200
        items = answer.json()["items"]
        assert [item["status"] for item in items] == [201, 404, 422, 422, 422, 422, 422, 413, 422, 201, 201]
        assert all("detail" in item for item in items if item["status"] != 201)
        assert [item["recipients"][0]["duplicate"] for item in items if item["status"] == 201] == [False, False, True]
        rows_after = (await admin.get("/api/inbox/analyst")).json()["items"]
        assert [item["content"] for item in rows_after] == ["first", "last"]
        assert (await admin.post("/api/inbox/batch", json={"pushes": []})).json() == {"items": []}


async def test_what_is_wrong_is_said_without_saying_all_of_it(gateway: Gateway) -> None:
    async with gateway.open_client() as admin:
        answer = await admin.post("/api/plans", json={"owner": "a" * 300_000, "name": "p", "runAfter": "1h"})
        assert_problem(answer, 404, 422)
        assert len(answer.content) < 2_500


async def test_what_can_be_said_once_is_refused_when_it_is_said_twice(world: World) -> None:
    async with world.gateway.open_client() as admin:
        with CollectedFailures() as failures:
            for operation, names in SINGLE_PARAMETERS.items():
                method, path = operation.split(" ")
                path = re.sub(r"\{.+?\}", "analyst", path)
                for name, second in product(names, ("1", "2")):
                    with failures.check(f"{operation} with {name} twice"):
                        answer = await admin.request(method, f"{path}?{name}=1&{name}={second}")
                        assert_problem(answer, 422)
                        assert answer.json()["detail"] == f"{name!r} is given more than once"
                with failures.check(f"{operation} without a key"):
                    twice = f"{path}?{names[-1]}=1&{names[-1]}=2"
                    assert_problem(await admin.request(method, twice, headers={"x-secret-key": "wrong"}), 401)


async def test_what_is_a_list_may_be_said_twice_and_what_is_unknown_not_at_all(world: World) -> None:
    async with world.gateway.open_client() as admin:
        answer = await admin.get("/api/entities?limit=1&unknown=1&unknown=2")
        assert_problem(answer, 422)
        assert answer.json()["detail"] == "'unknown' is not a parameter of it"
        answer = await admin.get("/api/stream?space=nosuch&space=other&inbox=analyst&inbox=designer")
        assert_problem(answer, 404)


async def test_a_person_is_no_agent_at_any_door_for_agents(gateway: Gateway) -> None:
    async with gateway.open_client() as admin:
        for method, path, body in (
            ("GET", "/api/agents/admin", None),
            ("POST", "/api/agents/admin/trigger", {"serviceName": "ci", "payload": {}}),
        ):
            answer = await admin.request(method, path, json=body)
            assert_problem(answer, 404)
            assert answer.json()["detail"] == "'admin' is a person, not an agent"


async def test_paths_and_methods_that_are_not_there_are_problems(gateway: Gateway) -> None:
    async with gateway.open_client() as admin:
        for method, path, status in (
            ("GET", "/", 421),  # the page is not at this name
            ("GET", "/nothing", 404),
            ("POST", "/", 404),
            ("GET", "/api", 404),
            ("GET", "/api/nothing", 404),
            ("POST", "/api/spaces/", 404),
            ("PUT", "/api/inbox", 405),
            ("GET", "/api/agents/analyst/trigger", 405),
            ("GET", "/hooks/x", 405),
            ("DELETE", "/health", 405),
            ("PATCH", "/api/spaces", 405),
        ):
            answer = await admin.request(method, path)
            assert_problem(answer, status)
            assert ("allow" in answer.headers) == (status == 405)


async def test_a_fault_of_ours_says_nothing_of_the_inside(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    def raise_error(*_: Any, **__: Any) -> None:
        raise RuntimeError("the secret sauce")

    monkeypatch.setattr(spaces, "list_page", raise_error)
    async with gateway.open_client() as admin:
        answer = await admin.get("/api/spaces")
    assert_problem(answer, 500)
    assert "sauce" not in answer.text


async def test_secrets_are_in_no_log_and_no_answer(
    world: World, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer is not logged, but a fault of ours is, with all that led to it."""

    def raise_error(*_: object, **__: object) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(spaces, "list_page", raise_error)
    gateway = world.gateway
    public, text = gateway.create_key("public"), create_token("analyst")
    secrets = [gateway.admin_key, public, text]
    answers = []
    with structlog.testing.capture_logs() as logs:
        for headers in (
            {"x-secret-key": gateway.admin_key},
            {"x-public-key": public, "authorization": f"Bearer {text}"},
            {"x-secret-key": public},
            {"x-public-key": gateway.admin_key, "authorization": f"Bearer {gateway.admin_key}"},
        ):
            answers += [await world.call(operation, headers) for operation in CALL_CASES]
    output = repr((logs, answers, caplog.records))
    assert {entry["event"] for entry in logs} >= {"unexpected"}
    for secret in secrets:
        assert secret[11:] not in output
        assert secret[12:30] not in output


async def test_what_a_guest_plans_goes_on_with_its_chain(gateway: Gateway) -> None:
    gateway.store.run_sync(push.push_event, Push(to="analyst", source="test", content="on", hops=3))
    body = {"owner": "analyst", "name": "p", "runAfter": "3m"}
    async with gateway.open_client() as admin:
        answers = [await admin.post("/api/plans", json=body | fields) for fields in ({}, {"by": "analyst"})]
        assert [answer.json()["hops"] for answer in answers] == [0, 4]
        plan_path = f"/api/plans/{answers[0].json()['id']}"
        patch_answer = await admin.patch(plan_path, json={"name": "q", "by": "analyst"})
        assert (patch_answer.json()["name"], patch_answer.json()["hops"]) == ("q", 4)
        assert_problem(await admin.post("/api/plans", json=body | {"by": "nobody"}), 404)
    async with gateway.open_client(x_secret_key=gateway.create_key("agent", "analyst")) as caller:
        assert (await caller.post("/api/plans", json=body)).json()["hops"] == 4
        assert_problem(await caller.post("/api/plans", json=body | {"by": "husam"}), 403)
        assert_problem(await caller.patch(plan_path, json={"by": "husam"}), 403)


async def test_a_long_path_with_an_idempotency_key_is_refused_like_one_without(url: str) -> None:
    """PostgreSQL cannot index what is longer than 2,704 bytes."""
    async with open_gateway(url) as gateway, gateway.open_client() as admin:
        for path in (f"/api/plans/{'5f' * 3_000}", f"/api/spaces/{'5f' * 3_000}/members/{'6e' * 3_000}"):
            for headers in ({}, {"idempotency-key": "k-1"}):
                assert_problem(await admin.delete(path, headers=headers), 422)


async def test_a_quoted_slash_is_part_of_a_name(tmp_path: Path) -> None:
    """Else one path could be written for another: here, one that removes a member for one that archives a space."""
    async with open_gateway(f"sqlite:///{tmp_path}/office.db") as gateway, gateway.open_client() as admin:
        await admin.post("/api/spaces", json={"name": "q4", "members": ["admin"]})
        answer = await admin.delete("/api/spaces/q4%2Fmembers%2Fadmin")
        assert_problem(answer, 422)
        assert [member["name"] for member in (await admin.get("/api/spaces/q4/members")).json()["items"]] == ["admin"]


async def test_a_nul_in_the_members_of_a_space_is_refused(url: str) -> None:
    async with open_gateway(url) as gateway, gateway.open_client() as admin:
        assert_problem(await admin.post("/api/spaces", json={"name": "n", "members": ["\x00"]}), 422)
