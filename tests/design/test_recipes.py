"""
The recipes of CONTRIBUTING.md are complete: a kind of gate, a field of a trigger and a transport are added to a copy of
the package by changes in the files that the recipe names, and in no others. Then another process uses them.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

import gatepost
from tests.support.servers.private_servers import Postgres

POSTGRES_BY_NIGHT = True

ROOT: Final = Path(__file__).parent.parent.parent
MIGRATIONS: Final = Path(gatepost.__file__).parent / "stores" / "migrations"
OLD_KINDS: Final = "'human', 'decision', 'timer', 'event', 'mail', 'command', 'ci'"


class Change(NamedTuple):
    """A text of a file of the package, and what stands there instead; a new file has no old text."""

    path: str
    old: str
    new: str


GATE_CHANGES: Final = (
    Change("gates/gate.py", '    CI = "ci"\n', '    CI = "ci"\n    FILE = "file"\n'),
    Change("gates/gate.py", "GateKind.COMMAND | GateKind.CI), None)", "GateKind.CI | GateKind.FILE), None)"),
    Change(
        "gates/gate.py",
        "    GateKind.CI: CI_TARGET_FORM,\n",
        '    GateKind.CI: CI_TARGET_FORM,\n    GateKind.FILE: "the path of a file",\n',
    ),
    Change("gates/gate_actions.py", "(GateKind.COMMAND, GateKind.CI) else", "(GateKind.CI, GateKind.FILE) else"),
    Change(
        "gates/condition_check.py",
        "def interpret_gh",
        "def interpret_file(exists):\n"
        '    return ConditionMet("the file is there") if exists else ConditionPending()\n\n\n'
        "def interpret_gh",
    ),
    Change(
        "gates/condition_check_background.py",
        "        case GateKind.CI:\n",
        "        case GateKind.FILE:\n"
        "            from pathlib import Path\n\n"
        "            return condition_check.interpret_file(Path(gate.awaits).exists())\n"
        "        case GateKind.CI:\n",
    ),
    Change("gates/gate_commands.py", "command, ci", "command, ci, file"),
    Change("gates/gate_api.py", "timer, event, mail, ci:", "timer, event, mail, ci, file:"),
)
GATE_PROGRAM: Final = """
import asyncio, io, json, sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from gatepost.api import AddGate, ListGates, ShowGate
from gatepost.cli.main import run
from gatepost.core.times import MINUTE
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.errors import Invalid
from gatepost.executor import LocalExecutor
from gatepost.gates.condition_check_background import GateCommandOptions, check_gates
from gatepost.operations.operation_tool import load_tools
from gatepost.operations.tool import Door
from gatepost.testing import Kit

url, awaited = sys.argv[1], Path(sys.argv[2])
answers = {}
with Kit(url) as kit:
    for name, kind in (("admin", EntityKind.HUMAN), ("ann", EntityKind.AGENT)):
        kit.store.run_sync(directory.register, directory.EntitySpec(name=name, kind=kind))
    admin = LocalExecutor(kit.store)
    try:
        admin.send(AddGate(name="report", kind="file", owner="ann"))
    except Invalid as error:
        answers["without what it awaits"] = error.message_with_hint
    gate = admin.send(AddGate(name="report", kind="file", awaits=str(awaited), owner="ann"))
    for step in ("before", "after"):
        asyncio.run(check_gates(kit.store, GateCommandOptions(commands=None)))
        answers[step] = admin.send(ShowGate(id=gate.id)).status
        awaited.touch()
        kit.clock.advance(MINUTE)
    answers["end"] = admin.send(ShowGate(id=gate.id)).resolution.reason
out = io.TextIOWrapper(io.BytesIO(), write_through=True)
with redirect_stdout(out), redirect_stderr(io.StringIO()) as err:
    answers["added"] = run(["gate", "add", "another", "--kind", "file", "--awaits", "x", "--owner", "ann"])
    answers["listed"] = run(["gate", "list", "--kind", "file", "--json"])
print(err.getvalue(), file=sys.stderr)
answers["kinds"] = [gate["kind"] for gate in json.loads(out.buffer.getvalue().decode().partition("\\n")[2])]
answers["tool"] = "file" in json.dumps(load_tools(Door.RESIDENT)["set_gate"].input_schema)
print(json.dumps(answers))
"""
FIELD_CHANGES: Final = (
    Change(
        "channels/triggers/trigger.py",
        "    public_url: ",
        '    spoken_language: Annotated[str, describe("the language of its users"), _BOT] | None = None\n'
        "    public_url: ",
    ),
)
FIELD_PROGRAM: Final = """
import asyncio, io, json, os
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from gatepost import app, settings
from gatepost.channels.triggers import gatepost_toml_actions as file_triggers
from gatepost.cli.main import run
from tests.support.gateways.local_gateways import open_gateway

home = Path(os.environ["GATEPOST_HOME"])
answers = {}


def type_command(*arguments):
    out = io.TextIOWrapper(io.BytesIO(), write_through=True)
    with redirect_stdout(out), redirect_stderr(io.StringIO()) as err:
        code = run(list(arguments))
    return out.buffer.getvalue().decode() if code == 0 else err.getvalue().strip()


async def call():
    async with open_gateway(f"sqlite:///{home}/http.db") as gateway, gateway.open_client() as client:
        bot = {"name": "bot", "provider": "telegram", "token": "env:BOT", "spokenLanguage": "de"}
        answers["added over HTTP"] = (await client.post("/api/triggers", json=bot)).json()["spokenLanguage"]
        for value in ("fr", None):
            changed = await client.patch("/api/triggers/bot", json={"spokenLanguage": value})
            answers[f"changed to {value}"] = changed.json()["spokenLanguage"]
        document = (await client.get("/api/openapi.json")).json()
        schema = document["components"]["schemas"]["AddTrigger"]["properties"]["spokenLanguage"]
        answers["documented"] = "the language of its users" in json.dumps(schema)
        answers["wrong type"] = (await client.patch("/api/triggers/bot", json={"spokenLanguage": 7})).json()["detail"]
        cron = {"name": "daily", "provider": "cron", "schedule": {"every": "1h"}, "spokenLanguage": "de"}
        answers["wrong provider"] = (await client.post("/api/triggers", json=cron)).json()["detail"]


home.mkdir()
asyncio.run(call())
bot = ("--provider", "telegram", "--token", "env:BOT")
type_command("trigger", "add", "typed", *bot, "--spoken-language", "de")
type_command("trigger", "set", "typed", "--spoken-language", "it")
answers["typed"] = "spoken language  it" in type_command("trigger", "show", "typed")
answers["help"] = "The language of its users" in type_command("trigger", "add", "--help")

table = '[triggers.listed]\\nprovider = "telegram"\\ntoken = "env:BOT"\\nspoken_language = "es"\\n'
(home / "gatepost.toml").write_text(table)
configuration = settings.load()
with app.prepare_store(configuration) as store:
    for trigger, secret in app.build_file_triggers(configuration, {}):
        store.run_sync(file_triggers.apply, trigger, secret)
document = json.loads(type_command("trigger", "list", "--json"))
answers["listed"] = {trigger["name"]: trigger["spokenLanguage"] for trigger in document}
type_command("export", str(home / "all.jsonl"))
os.environ["GATEPOST_STORE"] = f"sqlite:///{home}/imported.db"
type_command("import", str(home / "all.jsonl"))
answers["imported"] = json.loads(type_command("trigger", "show", "typed", "--json"))["spokenLanguage"]
print(json.dumps(answers))
"""
TRANSPORT_CHANGES: Final = (
    Change(
        "transports/pipe.py",
        "",
        "from gatepost.transports.socket import SocketTransport\n\n\n"
        "class PipeTransport(SocketTransport):\n"
        '    name = "pipe"\n',
    ),
    Change(
        "transports/__init__.py",
        '        case "postgres":\n',
        '        case "pipe":\n'
        "            from gatepost.transports.pipe import PipeTransport\n\n"
        "            return PipeTransport(folder, on_change=on_change)\n"
        '        case "postgres":\n',
    ),
    Change("settings/converters.py", "(memory|socket|postgres):$", "(memory|socket|pipe|postgres):$"),
    Change("app.py", '    "hedera": "hedera",\n', '    "hedera": "hedera",\n    "pipe": "pipe",\n'),
)
TRANSPORT_PROGRAM: Final = """
import asyncio, json, sys

from gatepost import app, settings
from gatepost.core.signals import Signal, Topic
from gatepost.errors import Unavailable

configuration = settings.load()
answers = {}


async def signal():
    arrived = asyncio.Event()
    receiver, sender = app.build_transport(configuration), app.build_transport(configuration)
    signal = Signal(Topic("inbox", "ann"), "event")
    async with receiver.listen(lambda message: arrived.set() if message == signal else None):
        sender.send([signal])
        await arrived.wait()
        answers["name"] = receiver.name


asyncio.run(signal())
sys.modules["gatepost.transports.pipe"] = None
try:
    app.build_transport(configuration)
except Unavailable as error:
    answers["without its driver"] = error.hint
print(json.dumps(answers))
"""
SUITE: Final = """
import pytest

from gatepost.testing.transports import TransportSuite
from gatepost.transports.pipe import PipeTransport


class TestPipe(TransportSuite):
    @pytest.fixture
    def make(self, tmp_path):
        return lambda: PipeTransport(tmp_path)
"""


def read_recipe(name: str) -> str:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    match = re.search(rf"^- \*\*{name}\*\*: (.*?)(?=^- \*\*|^## )", text, re.DOTALL | re.MULTILINE)
    assert match is not None
    return " ".join(match[1].split())


def follow(recipe: str, changes: tuple[Change, ...], root: Path) -> None:
    """Change a copy of the package; every changed file is one that the recipe names, or lies in a folder it names."""
    shutil.copytree(Path(gatepost.__file__).parent, root / "gatepost", ignore=shutil.ignore_patterns("__pycache__"))
    for path, old, new in changes:
        assert f"`{path}`" in recipe or f"`{Path(path).parent}`" in recipe, f"the recipe does not name {path}"
        file = root / "gatepost" / path
        assert file.exists() == bool(old)
        text = file.read_text() if old else ""
        assert old in text, f"{path} has changed: change the recipe's test with it"
        file.write_text(text.replace(old, new, 1) if old else new)


def run_program(root: Path, program: str, *arguments: str, **variables: str) -> dict[str, Any]:
    environment = os.environ | {"PYTHONPATH": f"{root}{os.pathsep}{ROOT}", "GATEPOST_HOME": str(root / "home")}
    result = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=environment | variables,
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    document: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return document


def write_migrations(root: Path) -> None:
    """Write what the recipe says of migrations: one for both databases, with the new kind in the CHECK."""
    kinds = f"{OLD_KINDS}, 'file'"
    folder = root / "gatepost" / "stores" / "migrations"
    number = max(int(file.stem) for file in (MIGRATIONS / "sqlite").glob("*.sql")) + 1
    (folder / "postgres" / f"{number:04}.sql").write_text(
        f"-- oldest: {number}\n\nALTER TABLE gates DROP CONSTRAINT gates_kind_check;\n"
        f"ALTER TABLE gates ADD CHECK (kind IN ({kinds}));\n"
    )
    # SQLite changes no CHECK: the table is made anew, with its indexes and the views that read it.
    statements = [
        re.sub(r"^(--.*\n|\n)+", "", part)
        for file in sorted((MIGRATIONS / "sqlite").glob("*.sql"))
        for part in file.read_text().split(";\n")
    ]
    [table] = [part for part in statements if part.startswith("CREATE TABLE gates (")]
    indexes = [part for part in statements if part.startswith("CREATE INDEX gates_")]
    views = {
        part.split()[2]: part for part in statements if part.startswith("CREATE VIEW") and re.search(r"\bgates\b", part)
    }
    parts = [
        *(f"DROP VIEW {name}" for name in views),
        table.replace("CREATE TABLE gates (", "CREATE TABLE new_gates (").replace(OLD_KINDS, kinds),
        "INSERT INTO new_gates SELECT * FROM gates",
        "DROP TABLE gates",
        "ALTER TABLE new_gates RENAME TO gates",
        *indexes,
        *views.values(),
    ]
    (folder / "sqlite" / f"{number:04}.sql").write_text(f"-- oldest: {number}\n\n" + ";\n".join(parts) + ";\n")


@pytest.fixture(params=["sqlite", "postgres"])
def own_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database of its own, because its schema is migrated further than that of others."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/gates.db"
        return
    postgres: Postgres = request.getfixturevalue("postgres")
    with postgres.create_database() as url:
        yield url


def test_a_kind_of_gate_is_added_by_its_recipe(tmp_path: Path, own_url: str) -> None:
    recipe = read_recipe("A kind of gate")
    follow(recipe, GATE_CHANGES, tmp_path)
    assert "a migration for both databases" in recipe
    write_migrations(tmp_path)
    assert run_program(tmp_path, GATE_PROGRAM, own_url, str(tmp_path / "report.pdf"), GATEPOST_STORE=own_url) == {
        "without what it awaits": "a gate of the kind 'file' must say what it awaits (hint: give `awaits`: the path of"
        " a file)",
        "before": "pending",
        "after": "resolved",
        "end": "the file is there",
        "added": 0,
        "listed": 0,
        "kinds": ["file"],
        "tool": True,
    }


def test_the_recipe_of_gates_names_the_page_and_what_is_generated() -> None:
    recipe = read_recipe("A kind of gate")
    icons, dialog = "web/src/decisions/gates.tsx", "web/src/decisions/gate-dialog.tsx"
    assert "KIND_ICONS: Record<GateKind, IconName>" in (ROOT / icons).read_text()
    assert "KINDS: Record<GateKind, " in (ROOT / dialog).read_text()
    assert all(f"`{name}`" in recipe for name in (icons, dialog, "tools/typescript.py"))


def test_a_field_of_a_trigger_is_one_line_for_every_door(tmp_path: Path) -> None:
    follow(read_recipe("A field of a trigger"), FIELD_CHANGES, tmp_path)
    assert run_program(tmp_path, FIELD_PROGRAM) == {
        "added over HTTP": "de",
        "changed to fr": "fr",
        "changed to None": None,
        "wrong type": "spokenLanguage: 7 is not text",
        "wrong provider": "a trigger of 'cron' has no spoken_language",
        "documented": True,
        "typed": True,
        "help": True,
        "listed": {"typed": "it", "listed": "es"},
        "imported": "it",
    }


def test_a_transport_is_added_by_its_recipe(tmp_path: Path) -> None:
    follow(read_recipe("A transport"), TRANSPORT_CHANGES, tmp_path)
    assert run_program(tmp_path, TRANSPORT_PROGRAM, GATEPOST_TRANSPORT="pipe:") == {
        "name": "pipe",
        "without its driver": "pip install 'gatepost[pipe]'",
    }
    (tmp_path / "test_pipe.py").write_text(SUITE)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-o",
        "asyncio_mode=auto",
        "test_pipe.py",
    ]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    result = subprocess.run(
        command,
        env=environment | {"PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout


def test_every_transport_is_an_adapter_that_only_app_names() -> None:
    recipe = read_recipe("A transport")
    assert "among the adapters of import-linter in `pyproject.toml`" in recipe
    settings = (ROOT / "pyproject.toml").read_text()
    opened = re.findall(
        r"from (gatepost\.transports\.\w+) import", (ROOT / "src/gatepost/transports/__init__.py").read_text()
    )
    assert {name for name in opened if f'    "{name}",' not in settings} == set()
