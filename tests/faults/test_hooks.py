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
from gatepost.actions import directory, gates, inbox, push
from gatepost.actions.directory import EntitySpec
from gatepost.adapters.spool import FileSpool
from gatepost.core import spool_line
from gatepost.core.entity import EntityKind
from gatepost.core.event import ItemState, Push
from gatepost.core.gate import FailMode, GateSpec
from gatepost.hook_entry import HookCall, HookEntry, HookResponse
from gatepost.ports import Store
from tests import forking
from tests.hosts import Heard, hear

EVENTS = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "PreCompact", "SessionEnd")

#: dies by SIGKILL at the Nth thing that it asks of the system, but for what Python does by itself
DYING = """
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

from gatepost.cli.main import main
os.write = write
sys.addaudithook(heard)
sys.argv = ["gatepost", "hook", sys.argv[1]]
main()
"""


@dataclass
class Home:
    """A home with ann in it, a guest whose session s-1 has begun, and a gate of hers that is to hold in any case."""

    folder: Path
    environ: dict[str, str] = field(default_factory=dict)
    #: done to the process of a hook before it begins
    before: Callable[[], None] | None = None

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
            pushed = store.call(push.push_event, Push(to="ann", source="test", content=text))
            [item] = store.query(inbox.show, pushed.event)
        FileSpool(f"{self.folder}/spool/<session>.jsonl").append("s-1", [spool_line.from_event(item.event)])

    def run(self, event: str, *program: str, **environ: str) -> "subprocess.CompletedProcess[str]":
        env = {name: value for name, value in os.environ.items() if not name.startswith("GATEPOST_")}
        env |= {"GATEPOST_HOME": str(self.folder), "GATEPOST_AGENT": "ann", **self.environ, **environ}
        return forking.run(
            [sys.executable, *(program or ("-m", "gatepost.cli.main", "hook")), event],
            input=json.dumps({"session_id": "s-1", "source": "startup", "tool_name": "Bash"}),
            capture_output=True,
            text=True,
            env=env,
            cwd=self.folder,
            preexec_fn=self.before,
            timeout=120,
            check=False,
        )

    def visit(self, event: str) -> str:
        """Run a hook in this process, which is faster; return what the model is shown."""
        environ = {"GATEPOST_AGENT": "ann", **self.environ}
        told = json.dumps({"session_id": "s-1", "source": "startup", "tool_name": "Bash"})
        porch = HookEntry(self.folder)
        try:
            running = porch.receive(
                HookCall(event=event, host="claude", stdin=told, environ=environ, cwd=str(self.folder))
            )
            with pytest.raises(StopIteration) as ended:
                next(running)
            said: HookResponse = ended.value.value
            said.on_printed()
        finally:
            porch.close()
        assert said.output.stderr == ""
        return hear(event, said.output.stdout).context

    def hook(self, event: str) -> tuple[Heard, str]:
        """What a host hears, as strictly as it may listen; and what is said on stderr."""
        ended = self.run(event)
        assert ended.returncode == 0, ended
        assert "Traceback" not in ended.stderr
        return hear(event, ended.stdout, ended.stderr, ended.returncode), ended.stderr


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.folder.mkdir(mode=0o700)
    with home.store() as store:
        store.call(directory.register, EntitySpec(name="ann", kind=EntityKind.AGENT))
        gate = GateSpec(name="Sign-off", owner="ann", fail=FailMode.CLOSED, instruction="wait for it")
        store.call(gates.add, gate, by="admin")
    for event in ("SessionStart", "UserPromptSubmit"):
        home.hook(event)
    assert "wait for it" in home.hook("Stop")[0].blocked
    return home


@contextmanager
def locked(home: Home) -> Iterator[None]:
    """Another process has the store to itself."""
    with sqlite3.connect(home.database, isolation_level=None) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        yield
        other.execute("ROLLBACK")
    other.close()


@contextmanager
def written_to(home: Home) -> Iterator[None]:
    """Another process writes to the store, and takes its time."""
    with sqlite3.connect(home.database, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")
    other.close()


@contextmanager
def damaged(home: Home) -> Iterator[None]:
    home.database.write_bytes(b"not a database, whatever its name says" * 100)
    yield


@contextmanager
def somebody_elses(home: Home) -> Iterator[None]:
    home.database.unlink()
    with sqlite3.connect(home.database) as other:
        other.execute("CREATE TABLE theirs (x)")
    other.close()
    yield


@contextmanager
def of_the_future(home: Home) -> Iterator[None]:
    with sqlite3.connect(home.database) as other:
        other.execute("UPDATE schema_version SET version = 9999, oldest = 9999")
    other.close()
    yield


@contextmanager
def empty(home: Home) -> Iterator[None]:
    home.database.write_bytes(b"")
    yield


@contextmanager
def gone(home: Home) -> Iterator[None]:
    home.database.unlink()
    yield


@contextmanager
def elsewhere(home: Home) -> Iterator[None]:
    """PostgreSQL, and no gateway: the spool alone is there."""
    home.environ["GATEPOST_STORE"] = "postgresql://ann@127.0.0.1:1/none"
    yield


@contextmanager
def garbage(home: Home) -> Iterator[None]:
    home.environ["GATEPOST_STORE"] = "garbage"
    yield


@contextmanager
def misconfigured(home: Home) -> Iterator[None]:
    (home.folder / "gatepost.toml").write_text("[inbox\nremember = ")
    yield


@contextmanager
def misset(home: Home) -> Iterator[None]:
    home.environ["GATEPOST_INBOX__REMEMBER"] = "for ever"
    yield


@contextmanager
def full(home: Home) -> Iterator[None]:
    """No file can grow."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))

    home.before = limit
    yield
    home.before = None


@contextmanager
def no_more_files(home: Home) -> Iterator[None]:
    """Nothing more can be opened than what a Python needs to start."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (6, 6))

    home.before = limit
    yield
    home.before = None


@contextmanager
def deaf(home: Home) -> Iterator[None]:
    """A gateway was killed, and its notice and its socket are still there."""
    notice = {"url": "http://127.0.0.1:1", "pid": 1, "store": "", "socket": str(home.folder / "gateway.sock")}
    (home.folder / "gateway.json").write_text(json.dumps(notice))
    (home.folder / "gateway.sock").touch()
    yield


Fault = Callable[[Home], AbstractContextManager[None]]

#: by what goes wrong: whether stderr has to say so at a stop
FAULTS: dict[Fault, bool] = {
    locked: True,
    written_to: False,
    damaged: True,
    somebody_elses: True,
    of_the_future: True,
    empty: True,
    gone: True,
    elsewhere: True,
    garbage: True,
    misconfigured: True,
    misset: True,
    full: True,
    no_more_files: True,
    deaf: False,
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_the_host_goes_on_and_what_is_to_hold_holds(home: Home, fault: Fault) -> None:
    with fault(home):
        for event in EVENTS:
            heard, said = home.hook(event)
            if event != "Stop":
                assert not heard.blocked
                continue
            assert "wait for it" in heard.blocked, said
            assert said or not FAULTS[fault]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_without_such_a_gate_nothing_holds(home: Home, fault: Fault) -> None:
    with home.store() as store:
        [gate] = store.query(gates.page, owner="ann")
        store.call(gates.resolve, gate.id, by="admin")
        store.call(gates.add, GateSpec(name="Tea", owner="ann"), by="admin")
    assert "Tea" in home.hook("Stop")[0].blocked
    with fault(home):
        heard, _ = home.hook("Stop")
        can_be_looked_at = fault in (written_to, deaf)
        assert ("Tea" in heard.blocked) is can_be_looked_at


def test_what_cannot_be_counted_is_not_blocked(home: Home) -> None:
    """A strict gate without a count of its blocks could hold for ever."""
    with home.store() as store:
        [gate] = store.query(gates.page, owner="ann")
        store.call(gates.resolve, gate.id, by="admin")
    (home.folder / "gates.json").write_text('[{"name": "tested"}]')
    assert home.hook("Stop")[0].blocked
    with full(home):
        heard, said = home.hook("Stop")
    assert not heard.blocked
    assert "cannot be noted" in said


@pytest.mark.parametrize("event", ["SessionStart", "Stop", "PostToolUse", "UserPromptSubmit", "SessionEnd"])
def test_killed_anywhere_it_says_all_or_nothing_and_loses_nothing(home: Home, event: str) -> None:
    """Each finds a batch that an earlier hook has printed: a Stop and a tool prove it, the others release it."""
    home.environ["GATEPOST_INBOX__HOLD"] = "1ms"  # so that the next one need not wait for what a dead one has claimed
    with home.store() as store:
        [gate] = store.query(gates.page, owner="ann")
        store.call(gates.resolve, gate.id, by="admin")
    home.hook("SessionStart")
    shown: list[str] = []
    for point in range(1, 1_000):
        home.push(f"word {2 * point - 1}.")
        shown.append(home.visit("UserPromptSubmit"))
        home.push(f"word {2 * point}.")
        ended = home.run(event, "-c", DYING, DIE_AT=str(point))
        shown.append(hear(event, ended.stdout).context)
        assert "Traceback" not in ended.stderr
        if ended.returncode == 0:
            break
        assert ended.returncode == -signal.SIGKILL
        json.loads((home.folder / "sessions" / "s-1" / "state.json").read_text())
        shown.append(home.visit("SessionStart"))
        home.visit("PreToolUse")  # the model has answered
    else:
        raise AssertionError("it never got through")
    shown.append(home.visit("SessionStart"))
    while context := home.visit("Stop"):
        shown.append(context)
    everything = "\n".join(shown)
    for number in range(1, 2 * point + 1):
        assert f"word {number}." in everything, "at least once"
    with home.store() as store:
        assert {item.state for item in store.query(inbox.page, "ann", limit=1_000)} == {ItemState.DELIVERED}
    assert not FileSpool(f"{home.folder}/spool/<session>.jsonl").read_unproved("s-1")
