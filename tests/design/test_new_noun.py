"""
The test of the design: a new noun is added by adding files only, and every door has it.

`tests/fixtures/new_noun` has one room: a record, its SQL with a migration for each dialect, verbs, four operations,
their handlers and four commands. It is copied into a copy of the package. Then another process finds them in HTTP, in
OpenAPI, in the local executor, among the tools of models, on the command line with its help and completion, and in the
generated reference.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

import gatepost
from tests.support.servers.private_servers import Postgres

POSTGRES_BY_NIGHT = True

FIXTURE: Final = Path(__file__).parent.parent / "fixtures" / "new_noun"
PROGRAM: Final = """
import asyncio, io, json, os, sys
from contextlib import redirect_stderr, redirect_stdout

import httpx2
import msgspec

from gatepost.operations.access import Caller, CallerKind
from gatepost.api import CreateLabel, DeleteLabel, ListLabels, ShowLabel
from gatepost.app import open_store
from gatepost.cli.main import run
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.errors import GatepostError
from gatepost.executor import LocalExecutor
from gatepost.operations.operation_tool import load_tools
from gatepost.operations.tool import Door
from gatepost.residents.tools import ToolContext, call_tool
from tests.support.gateways.local_gateways import build_openapi, open_gateway
from tools.reference import build_cli_reference

url = sys.argv[1]
answers = {}


def attempt(executor, request):
    try:
        return msgspec.to_builtins(executor.send(request))
    except GatepostError as error:
        return f"{error.type}: {error.message}"


async def call_over_http():
    async with open_gateway(url) as gateway, gateway.open_client() as admin:
        for name, method, path, body in (
            ("create", "POST", "/api/labels", {"name": "urgent", "colour": "red"}),
            ("create again", "POST", "/api/labels", {"name": "urgent"}),
            ("create without a name", "POST", "/api/labels", {"nam": "urgent"}),
            ("list", "GET", "/api/labels", None),
            ("show", "GET", "/api/labels/urgent", None),
            ("delete", "DELETE", "/api/labels/urgent", None),
            ("show what is deleted", "GET", "/api/labels/urgent", None),
        ):
            answer = await admin.request(method, path, json=body)
            answers[f"http: {name}"] = [answer.status_code, answer.json() if answer.content else None]
        async with gateway.open_client(x_nobody="yes") as nobody:
            answers["http: list for nobody"] = [(await nobody.get("/api/labels")).status_code]


asyncio.run(call_over_http())
document = build_openapi()
answers["openapi"] = sorted(
    f"{method.upper()} {path}: {' '.join(operation['responses'])}"
    for path, methods in document["paths"].items() if path.startswith("/api/labels")
    for method, operation in methods.items()
)
answers["openapi: models"] = sorted(name for name in document["components"]["schemas"] if "Label" in name)
store = open_store(url)


def use_as_resident(tx):
    analyst = directory.register(tx, directory.EntitySpec(name="analyst", kind=EntityKind.AGENT))
    return call_tool(ToolContext(tx=tx, agent=analyst, run=None, call="1"), "list_labels", {})


admin, agent = LocalExecutor(store), LocalExecutor(store, Caller(CallerKind.ENTITY, "analyst"))
answers["local: create"] = attempt(admin, CreateLabel(name="later"))
answers["local: create as an agent"] = attempt(agent, CreateLabel(name="later"))
answers["local: create with a long name"] = attempt(admin, CreateLabel(name="x" * 51))
answers["local: list as an agent"] = attempt(agent, ListLabels())
answers["local: show"] = attempt(admin, ShowLabel(name="later"))
answers["tools"] = {
    door: [tool.description, sorted(tool.input_schema["properties"])]
    for door in Door if (tool := load_tools(door).get("list_labels"))
}
answers["tools: mcp"] = load_tools(Door.MCP)["list_labels"].encode(agent.send(ListLabels()))
answers["tools: resident"] = store.run_sync(use_as_resident)
answers["local: delete"] = attempt(admin, DeleteLabel(name="later"))
answers["local: show what is deleted"] = attempt(admin, ShowLabel(name="later"))
store.close()


def type_command(words):
    out = io.TextIOWrapper(io.BytesIO(), write_through=True)
    with redirect_stdout(out), redirect_stderr(io.StringIO()) as err:
        code = run(words.split())
    return [code, out.buffer.getvalue().decode(), err.getvalue()]


for words in (
    "label create soon --colour blue",
    "label create soon",
    "label create",
    "label create x --colour",
    "label create " + "x" * 51,
    "label list -n 5",
    "label list --json --limit 0",
    "label show soon",
    "label show soon --json",
    "label --help",
    "label create --help",
    "label delete soon",
    "label list --json",
    "label list",
):
    answers[f"command: {words}"] = type_command(words)
os.environ.update(COMP_WORDS="gatepost label c", COMP_CWORD="2", _GATEPOST_COMPLETE="bash_complete")
answers["completion"] = type_command("")
answers["reference"] = [line for line in build_cli_reference().splitlines() if line.startswith("### gatepost label")]
print(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with one more noun; nothing that it had before has changed."""
    root = tmp_path_factory.mktemp("package")
    source = Path(gatepost.__file__).parent
    shutil.copytree(source, root / "gatepost")  # with what was compiled, which stays valid
    for file in FIXTURE.rglob("*.*"):
        if file.suffix in (".py", ".sql"):
            target = root / "gatepost" / file.relative_to(FIXTURE)
            if file.name == "next.sql":
                last_number = max(int(migration.stem) for migration in target.parent.glob("*.sql"))
                target = target.with_name(f"{last_number + 1:04}.sql")
            assert not target.exists(), f"{target} is there already: the noun is to be added by new files only"
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, target)
    return root


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def own_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A database of its own, because its schema is migrated further than that of others."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path_factory.mktemp('noun')}/n.db"
        return
    postgres: Postgres = request.getfixturevalue("postgres")
    with postgres.create_database() as url:
        yield url


@pytest.fixture(scope="module")
def answers(package: Path, own_url: str) -> dict[str, Any]:
    """What every door answers about the new noun."""
    repository = Path(__file__).parent.parent.parent
    environment = os.environ | {
        "PYTHONPATH": f"{package}{os.pathsep}{repository}",
        "GATEPOST_STORE": own_url,
        "GATEPOST_HOME": str(package / "home"),
    }
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, own_url],
        env=environment,
        cwd=package,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    document: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return document


def test_every_door_has_a_noun_that_was_added_by_files_only(answers: dict[str, Any]) -> None:
    urgent = {"name": "urgent", "colour": "red", "createdAt": answers["http: create"][1]["createdAt"]}
    later = {"name": "later", "colour": "grey", "createdAt": answers["local: create"]["createdAt"]}
    assert answers["http: create"] == [201, urgent]
    assert answers["http: create again"][0] == 409
    assert answers["http: create again"][1]["detail"] == "there is a label 'urgent'"
    assert answers["http: create without a name"][0] == 422
    assert answers["http: create without a name"][1]["detail"] == "'nam' is not a field of it"
    assert answers["http: create without a name"][1]["hint"] == "did you mean 'name'?"
    assert answers["http: list"] == [200, {"items": [urgent], "next": None}]
    assert answers["http: show"] == [200, urgent]
    assert answers["http: delete"] == [204, None]
    assert answers["http: show what is deleted"][0] == 404
    assert answers["http: list for nobody"] == [401]
    assert answers["openapi"] == [
        "DELETE /api/labels/{name}: 204 401 403 404 422 431 503",
        "GET /api/labels/{name}: 200 401 403 404 422 431 503",
        "GET /api/labels: 200 401 403 422 431 503",
        "POST /api/labels: 201 400 401 403 409 413 415 422 431 503",
    ]
    assert answers["openapi: models"] == ["CreateLabel", "Label", "LabelPage"]
    assert answers["local: create"] == later
    assert answers["local: create as an agent"] == "refused: this is for the administrator"
    assert answers["local: create with a long name"].endswith("is longer than 50 characters")
    assert answers["local: list as an agent"] == {"items": [later], "next": None}
    assert answers["local: show"] == later
    assert answers["local: delete"] is None
    assert answers["local: show what is deleted"] == "not-found: there is no label 'later'"


def test_one_declaration_is_a_tool_for_models_over_mcp_and_in_residents(answers: dict[str, Any]) -> None:
    description = "List the labels, in the order in which they were created."
    assert answers["tools"] == {"mcp": [description, ["after", "limit"]], "resident": [description, []]}
    label = {"name": "later", "colour": "grey"}
    assert answers["tools: mcp"] == {"items": [label]}
    assert answers["tools: resident"] == {"labels": [label]}


def test_a_noun_that_was_added_by_files_only_has_commands(answers: dict[str, Any]) -> None:
    def get_answer(words: str) -> tuple[int, str, str]:
        code, out, err = answers[f"command: {words}"]
        return code, out, err

    assert get_answer("label create soon --colour blue") == (0, "soon\n", "created 'soon'\n")
    assert get_answer("label create soon") == (1, "", "error: there is a label 'soon'\n")
    assert get_answer("label create")[0::2] == (
        2,
        "error: NAME is missing\nhint: `gatepost label create --help` explains it\n",
    )
    assert get_answer("label create x --colour")[0] == 2
    code, out, err = get_answer("label create " + "x" * 51)
    assert (code, out) == (2, "")
    assert err.startswith("error: NAME: 'xxx")
    assert err.endswith("is longer than 50 characters\n")
    assert get_answer("label list -n 5") == (0, "LABEL  COLOUR\nsoon   blue\n", "")
    assert get_answer("label list") == (0, "", "no labels yet\n")
    assert get_answer("label list --json --limit 0")[0::2] == (
        2,
        "error: --limit: '0' is not a number from 1 to 100000\n",
    )
    label = json.loads(get_answer("label show soon --json")[1])
    assert (label["name"], label["colour"]) == ("soon", "blue")
    assert get_answer("label show soon")[1] == f"label   soon\ncolour  blue\nsince   {label['createdAt']}\n"
    assert "create  Create a label." in get_answer("label --help")[1]
    assert "--colour COLOUR" in get_answer("label create --help")[1]
    assert get_answer("label delete soon") == (0, "soon\n", "deleted\n")
    assert json.loads(get_answer("label list --json")[1]) == []
    assert answers["completion"][1].split() == ["plain,create"]
    assert answers["reference"] == [
        "### gatepost label",
        *(f"### gatepost label {verb}" for verb in ("create", "list", "show", "delete")),
    ]
