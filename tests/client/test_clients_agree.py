"""
Local and remote are the same client: every operation that does not need a gateway gives the same answer, or the same
error, from a `LocalClient` on the store and from a `SyncClient` over HTTP.

There are two installations that are alike: the same clock, the same objects. Each operation is sent to both, in several
ways: as the administrator, as an entity, with names that do not exist, and with wrong values. What it changes, it
changes in both.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from gatepost.client import LocalClient, SyncClient
from gatepost.directory.sign_in_api import CreateSignInLink
from gatepost.errors import GatepostError, Late
from gatepost.executor import load_operations
from gatepost.operations.access import ADMINISTRATOR, Caller, CallerKind
from gatepost.operations.decoding import get_decoder
from gatepost.operations.operation import Operation, Request
from gatepost.testing import FakeClock
from tests.operations.access_cases import CALL_CASES, create_owned_objects
from tests.support.gateways.local_gateways import Gateway, serve_gateway

OPERATIONS: Final = [operation for operation in load_operations() if not operation.needs_gateway]
#: secrets, which are random
SECRET_FIELDS: Final = ("key", "prefix")
#: what the files of two stores may differ in
SIZE_FIELDS: Final = ("storeBytes",)


@dataclass(frozen=True)
class Installation:
    gateway: Gateway
    url: str
    values: Mapping[str, Any]


def start_installation(folder: Path) -> Iterator[Installation]:
    with serve_gateway(f"sqlite:///{folder}/gatepost.db", clock=FakeClock()) as server:
        yield Installation(server.gateway, server.base_url, create_owned_objects(server.gateway.store))


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    yield from start_installation(tmp_path_factory.mktemp("local"))


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    yield from start_installation(tmp_path_factory.mktemp("remote"))


def build_request(operation: Operation, values: Mapping[str, Any], **changes: Any) -> Request[Any]:
    """The example of an operation about what there is, with changes to its fields."""
    case = CALL_CASES[operation.endpoint]
    path = {name: str(values.get(word, word)) for name, word in case.path.items()}
    body = {**(operation.example or {}), **{name: values.get(word, word) for name, word in case.body.items()}}
    content = msgspec.json.encode(body) if operation.has_body else None
    request = get_decoder(operation).decode(path, b"", content)
    return msgspec.structs.replace(request, **changes) if changes else request


def try_to_send(client: LocalClient | SyncClient, request: Request[Any]) -> Any:
    """The answer without its secrets, or the error, as plain values."""
    try:
        answer = msgspec.to_builtins(client.send(request))
    except GatepostError as error:
        return [type(error).__name__, error.message, error.hint, error.winner if isinstance(error, Late) else None]
    if isinstance(answer, dict):
        answer = {name: value for name, value in answer.items() if name not in (*SECRET_FIELDS, *SIZE_FIELDS)}
        if isinstance(request, CreateSignInLink):
            answer["path"] = answer["path"].partition("#lk_")[0]
        answer["items"] = [
            {name: value for name, value in item.items() if name not in SECRET_FIELDS}
            for item in answer.get("items", ())
        ]
    return answer


def list_ways(operation: Operation) -> list[dict[str, Any]]:
    """Changes to a request: none, names that do not exist, and wrong values, as far as a query can say them."""
    names = [name for name in operation.request.__struct_fields__ if name not in operation.path_fields]
    ways: list[dict[str, Any]] = [{}]
    if operation.path_fields:
        ways.append(dict.fromkeys(operation.path_fields, "nobody-here"))
    if operation.has_body:
        return ways + [{name: ["wrong"]} for name in names[:2]]
    return ways + [{name: "wrong"} for name in names if name in ("limit", "status", "kind", "pending", "retired")]


@pytest.mark.parametrize("who", ["entity", "administrator"])
def test_local_and_remote_answer_alike(local: Installation, remote: Installation, who: str) -> None:
    caller = ADMINISTRATOR if who == "administrator" else Caller(CallerKind.ENTITY, "analyst")
    keys = [
        installation.gateway.admin_key
        if who == "administrator"
        else installation.gateway.create_key("agent", "analyst")
        for installation in (local, remote)
    ]
    wrong: list[str] = []
    count = 0
    with SyncClient(remote.url, key=keys[1]) as sync_client:
        local_client = LocalClient(local.gateway.store, caller)
        for operation in OPERATIONS:
            for changes in list_ways(operation):
                answers = [
                    try_to_send(client, build_request(operation, installation.values, **changes))
                    for client, installation in ((local_client, local), (sync_client, remote))
                ]
                count += 1
                if answers[0] != answers[1]:
                    wrong.append(f"{operation.name} {changes}:\n  local  {answers[0]}\n  remote {answers[1]}")
    assert not wrong, "\n".join(wrong)
    assert count > 150
