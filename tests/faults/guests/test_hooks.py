"""
Hooks fail open: whatever is broken, the host goes on. It is told nothing or a whole answer, stderr says why, and the
exit code blocks nothing. A gate that is to hold in any case holds.

All faults are real ones, done to the process, its files or its disk.
"""

import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gatepost import app, settings
from gatepost.core.ports import Store
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.gates import gate_actions as gates
from gatepost.gates.gate import FailMode, GateSpec
from gatepost.guests import spool_line
from gatepost.guests.hook_entry import HookCall, HookEntry, HookResponse
from gatepost.guests.spool_files import FileSpool
from gatepost.inbox import claim_actions as inbox, item_actions as inbox_items
from gatepost.inbox.event import ItemState, Push
from gatepost.inbox.push import actions as push_actions
from tests.faults.grids import select_points
from tests.guests.claude_code import HookOutcome, parse_hook_output
from tests.support.processes import fork_server
from tests.support.waits import LAST_RESORT

HOOK_EVENTS = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "PreCompact", "SessionEnd")

#: at how many points the process of a hook can be killed, at least
POINT_COUNTS = {"SessionStart": 45, "Stop": 45, "PostToolUse": 40, "UserPromptSubmit": 45, "SessionEnd": 18}
#: dies by SIGKILL at the Nth thing that it asks of the system, but for what Python does by itself; else writes how many
#: there were
DYING_SCRIPT = """
import os, signal, sys

left = int(os.environ["DIE_AT"])

def passed():
    global left
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)

def heard(event, arguments):
    if event in ("os.rename", "os.remove", "os.mkdir", "fcntl.flock", "sqlite3.connect/handle"):
        passed()
    elif event == "open" and os.environ["GATEPOST_HOME"] in str(arguments[0]):
        passed()

def write(fd, data, really=os.write):
    passed()
    done = really(fd, data)
    passed()
    return done

def leave(code, really=os._exit):
    with open(os.environ["COUNT_FILE"], "w") as file:
        file.write(str(int(os.environ["DIE_AT"]) - left))
    really(code)

from gatepost.cli.main import main
os.write = write
os._exit = leave
sys.addaudithook(heard)
sys.argv = ["gatepost", "hook", sys.argv[1]]
main()
"""


@dataclass
class HookHome:
    """A home with ann in it, a guest whose session s-1 has begun, and a gate of hers that is to hold in any case."""

    folder: Path
    environ: dict[str, str] = field(default_factory=dict)
    #: done to the process of a hook before it begins
    before_start: Callable[[], None] | None = None

    @property
    def database(self) -> Path:
        return self.folder / "gatepost.db"

    @contextmanager
    def store(self) -> Iterator[Store]:
        with app.prepare_store(settings.load({"GATEPOST_HOME": str(self.folder)})) as store:
            yield store

    def push(self, text: str) -> None:
        """Tell ann something, in her inbox and in the spool of her session."""
        with self.store() as store:
            pushed = store.run_sync(push_actions.push_event, Push(to="ann", source="test", content=text))
            [item] = store.read_sync(inbox_items.show, pushed.event)
        FileSpool(f"{self.folder}/spool/<session>.jsonl").append("s-1", [spool_line.from_event(item.event)])

    def run_process(self, event: str, *program_arguments: str, **environ: str) -> "subprocess.CompletedProcess[str]":
        env = {name: value for name, value in os.environ.items() if not name.startswith("GATEPOST_")}
        env |= {"GATEPOST_HOME": str(self.folder), "GATEPOST_AGENT": "ann", **self.environ, **environ}
        return fork_server.run(
            [sys.executable, *(program_arguments or ("-m", "gatepost.cli.main", "hook")), event],
            input=json.dumps({"session_id": "s-1", "source": "startup", "tool_name": "Bash"}),
            capture_output=True,
            text=True,
            env=env,
            cwd=self.folder,
            preexec_fn=self.before_start,
            timeout=LAST_RESORT,
            check=False,
        )

    def run_in_process(self, event: str) -> str:
        """Run a hook in this process, which is faster; return what the model is shown."""
        environ = {"GATEPOST_AGENT": "ann", **self.environ}
        payload = json.dumps({"session_id": "s-1", "source": "startup", "tool_name": "Bash"})
        entry = HookEntry(self.folder)
        try:
            hook_run = entry.receive(
                HookCall(event=event, host="claude", stdin=payload, environ=environ, cwd=str(self.folder))
            )
            with pytest.raises(StopIteration) as stop_info:
                next(hook_run)
            response: HookResponse = stop_info.value.value
            response.on_printed()
        finally:
            entry.close()
        assert response.output.stderr == ""
        return parse_hook_output(event, response.output.stdout).context

    def run_hook(self, event: str) -> tuple[HookOutcome, str]:
        """What a host hears, as strictly as it may listen; and what is said on stderr."""
        result = self.run_process(event)
        assert result.returncode == 0, result
        assert "Traceback" not in result.stderr
        return parse_hook_output(event, result.stdout, result.stderr, result.returncode), result.stderr


@pytest.fixture
def home(tmp_path: Path) -> HookHome:
    home = HookHome(tmp_path / "home")
    home.folder.mkdir(mode=0o700)
    with home.store() as store:
        store.run_sync(directory.register, EntitySpec(name="ann", kind=EntityKind.AGENT))
        gate = GateSpec(name="Sign-off", owner="ann", fail=FailMode.CLOSED, instruction="wait for it")
        store.run_sync(gates.add, gate, by="admin")
    for event in ("SessionStart", "UserPromptSubmit"):
        home.run_hook(event)
    assert "wait for it" in home.run_hook("Stop")[0].block_reason
    return home


@contextmanager
def lock_store(home: HookHome) -> Iterator[None]:
    """Another process has the store to itself."""
    with sqlite3.connect(home.database, isolation_level=None) as other_connection:
        other_connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        other_connection.execute("BEGIN EXCLUSIVE")
        yield
        other_connection.execute("ROLLBACK")
    other_connection.close()


@contextmanager
def hold_write_lock(home: HookHome) -> Iterator[None]:
    """Another process writes to the store, and takes its time."""
    with sqlite3.connect(home.database, isolation_level=None) as other_connection:
        other_connection.execute("BEGIN IMMEDIATE")
        yield
        other_connection.execute("ROLLBACK")
    other_connection.close()


@contextmanager
def damage_store(home: HookHome) -> Iterator[None]:
    home.database.write_bytes(b"not a database, whatever its name says" * 100)
    yield


@contextmanager
def replace_with_foreign_database(home: HookHome) -> Iterator[None]:
    home.database.unlink()
    with sqlite3.connect(home.database) as other_connection:
        other_connection.execute("CREATE TABLE theirs (x)")
    other_connection.close()
    yield


@contextmanager
def set_future_version(home: HookHome) -> Iterator[None]:
    with sqlite3.connect(home.database) as other_connection:
        other_connection.execute("UPDATE schema_version SET version = 9999, oldest = 9999")
    other_connection.close()
    yield


@contextmanager
def empty_store(home: HookHome) -> Iterator[None]:
    home.database.write_bytes(b"")
    yield


@contextmanager
def delete_store(home: HookHome) -> Iterator[None]:
    home.database.unlink()
    yield


@contextmanager
def use_unreachable_postgres(home: HookHome) -> Iterator[None]:
    """PostgreSQL, and no gateway: the spool alone is there."""
    home.environ["GATEPOST_STORE"] = "postgresql://ann@127.0.0.1:1/none"
    yield


@contextmanager
def use_garbage_url(home: HookHome) -> Iterator[None]:
    home.environ["GATEPOST_STORE"] = "garbage"
    yield


@contextmanager
def break_config_file(home: HookHome) -> Iterator[None]:
    (home.folder / "gatepost.toml").write_text("[inbox\nremember = ")
    yield


@contextmanager
def set_bad_variable(home: HookHome) -> Iterator[None]:
    home.environ["GATEPOST_INBOX__REMEMBER"] = "for ever"
    yield


@contextmanager
def forbid_file_growth(home: HookHome) -> Iterator[None]:
    """No file can grow."""

    def set_limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))

    home.before_start = set_limit
    yield
    home.before_start = None


@contextmanager
def limit_open_files(home: HookHome) -> Iterator[None]:
    """Nothing more can be opened than what a Python needs to start."""

    def set_limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (6, 6))

    home.before_start = set_limit
    yield
    home.before_start = None


@contextmanager
def leave_dead_gateway(home: HookHome) -> Iterator[None]:
    """A gateway was killed, and its notice and its socket are still there."""
    gateway_file = {"url": "http://127.0.0.1:1", "pid": 1, "store": "", "socket": str(home.folder / "gateway.sock")}
    (home.folder / "gateway.json").write_text(json.dumps(gateway_file))
    (home.folder / "gateway.sock").touch()
    yield


Fault = Callable[[HookHome], AbstractContextManager[None]]

#: by what goes wrong: whether stderr has to say so at a stop
FAULTS: dict[Fault, bool] = {
    lock_store: True,
    hold_write_lock: False,
    damage_store: True,
    replace_with_foreign_database: True,
    set_future_version: True,
    empty_store: True,
    delete_store: True,
    use_unreachable_postgres: True,
    use_garbage_url: True,
    break_config_file: True,
    set_bad_variable: True,
    forbid_file_growth: True,
    limit_open_files: True,
    leave_dead_gateway: False,
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_the_host_goes_on_and_what_is_to_hold_holds(home: HookHome, fault: Fault) -> None:
    with fault(home):
        for event in HOOK_EVENTS:
            outcome, stderr = home.run_hook(event)
            if event != "Stop":
                assert not outcome.block_reason
                continue
            assert "wait for it" in outcome.block_reason, stderr
            assert stderr or not FAULTS[fault]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_without_such_a_gate_nothing_holds(home: HookHome, fault: Fault) -> None:
    with home.store() as store:
        [gate] = store.read_sync(gates.list_page, owner="ann")
        store.run_sync(gates.resolve, gate.id, by="admin")
        store.run_sync(gates.add, GateSpec(name="Tea", owner="ann"), by="admin")
    assert "Tea" in home.run_hook("Stop")[0].block_reason
    with fault(home):
        outcome, _ = home.run_hook("Stop")
        can_be_looked_at = fault in (hold_write_lock, leave_dead_gateway)
        assert ("Tea" in outcome.block_reason) is can_be_looked_at


def test_what_cannot_be_counted_is_not_blocked(home: HookHome) -> None:
    """A strict gate without a count of its blocks could hold for ever."""
    with home.store() as store:
        [gate] = store.read_sync(gates.list_page, owner="ann")
        store.run_sync(gates.resolve, gate.id, by="admin")
    (home.folder / "gates.json").write_text('[{"name": "tested"}]')
    assert home.run_hook("Stop")[0].block_reason
    with forbid_file_growth(home):
        outcome, stderr = home.run_hook("Stop")
    assert not outcome.block_reason
    assert "cannot be noted" in stderr


@pytest.mark.parametrize("event", POINT_COUNTS)
def test_killed_anywhere_it_says_all_or_nothing_and_loses_nothing(home: HookHome, event: str, tmp_path: Path) -> None:
    """Each finds a batch that an earlier hook has printed: a Stop and a tool prove it, the others release it."""
    count_file = tmp_path / "count"
    home.environ["GATEPOST_INBOX__HOLD"] = "1ms"  # so that the next one need not wait for what a dead one has claimed
    with home.store() as store:
        [gate] = store.read_sync(gates.list_page, owner="ann")
        store.run_sync(gates.resolve, gate.id, by="admin")
    home.run_hook("SessionStart")
    contexts: list[str] = []
    words = [f"word {number}." for number in range(1_000)]
    unsaid_words = iter(words)

    def run_hook(die_at: int = 0) -> int:
        """Run the hook after another, with something new for each; return its exit code."""
        home.push(next(unsaid_words))
        contexts.append(home.run_in_process("UserPromptSubmit"))
        home.push(next(unsaid_words))
        result = home.run_process(event, "-c", DYING_SCRIPT, DIE_AT=str(die_at), COUNT_FILE=str(count_file))
        contexts.append(parse_hook_output(event, result.stdout).context)
        assert "Traceback" not in result.stderr
        return result.returncode

    def go_on() -> None:
        json.loads((home.folder / "sessions" / "s-1" / "state.json").read_text())
        contexts.append(home.run_in_process("SessionStart"))
        home.run_in_process("PreToolUse")  # the model has answered

    for _ in range(2):  # the second time is like those that follow
        assert run_hook() == 0
        go_on()
    point_count = int(count_file.read_text())
    points = range(1, point_count + 1)
    for point in select_points(points, at_least=POINT_COUNTS[event], by_day=points[::10]):
        assert run_hook(die_at=point) == -signal.SIGKILL
        go_on()
    assert run_hook() == 0
    contexts.append(home.run_in_process("SessionStart"))
    while context := home.run_in_process("Stop"):
        contexts.append(context)
    shown_text = "\n".join(contexts)
    said_words = words[: words.index(next(unsaid_words))]
    assert said_words
    assert [word for word in said_words if word not in shown_text] == [], "at least once"
    with home.store() as store:
        assert {item.state for item in store.read_sync(inbox.list_page, "ann", limit=1_000)} == {ItemState.DELIVERED}
    assert not FileSpool(f"{home.folder}/spool/<session>.jsonl").read_unproved("s-1")
