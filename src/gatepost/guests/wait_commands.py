"""
`gatepost hook wait`: wait until the session of a guest is to be woken, and then end with 2.

Claude Code runs this in the background (`asyncRewake`) at each start, prompt and stop of a session. One process waits
for each session: it holds a lock, and those that come later end at once. What remains of it is small, because this
process is replaced by `waiter.py`, which gets all that it has to know; the lock stays held.

`gatepost hook wait --check SESSION` is what a waiter without a gateway asks when the inbox has an item. It decides by
the same rule as a gateway (`wake_actions.py`), and prints since when the item could have been shown.
"""

import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NoReturn

from gatepost.errors import GatepostError, Unavailable
from gatepost.guests import reachability, session_actions as sessions, waiter
from gatepost.guests.hook_commands import CHECK, WAIT
from gatepost.guests.hook_entry import HookConfig, HookEntry, parse_payload
from gatepost.guests.hooks import host_process
from gatepost.guests.hooks.hook_context import HookContext
from gatepost.guests.hooks.session_state import has_ended, list_of_program
from gatepost.guests.session import encode_filename
from gatepost.guests.setup_api import TITLES

#: the program whose model runs this in a shell; others run it as a hook, and name the session
_SHELL_HOST: Final = "gemini"
_LOCK_FILE: Final = "waiter.lock"
#: seconds in which the hook that runs beside this has made the session known to the store
_REGISTRATION_TIME: Final = 30.0
_POLL_INTERVAL: Final = 0.2


def wait(home: str, environ: Mapping[str, str], stdin: str, host: str) -> int:
    """Become the waiter of a session, or return the exit code of one that does not wait."""
    if environ.get("CLAUDE_CODE_ENTRYPOINT", "").startswith("sdk"):
        return 0  # a program asks Claude Code, which could not end while a hook waits
    session = _find_own_session(Path(home), environ) if host == _SHELL_HOST else _read_session(stdin)
    if session is None:
        return 0
    folder = Path(home) / "sessions" / encode_filename(session)
    if folder.is_symlink():
        return 0
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not _take_lock(folder / _LOCK_FILE):
        return 0
    entry = HookEntry(home)
    try:
        config = entry.load_config(environ, lambda _: None)
        options = _build_options(home, str(folder), session, config, environ, host)
        options["agent"] = _wait_for_start(entry.build_context(session, config), options)
    except GatepostError as error:
        sys.stderr.write(f"gatepost: {error.message_with_hint}\n")
        return 1  # which wakes nobody
    finally:
        entry.close()
    return _become_waiter(options)


def _read_session(stdin: str) -> str | None:
    """Return the session that a program names on stdin; None for that of a helper."""
    payload = parse_payload(stdin, [])
    session = payload.get("session_id") if isinstance(payload, dict) and not payload.get("agent_id") else None
    return session if isinstance(session, str) and session else None


def _find_own_session(home: Path, environ: Mapping[str, str]) -> str | None:
    """Return the session of the program in whose shell this runs: the one that began last."""
    program = host_process.find_program(environ, _SHELL_HOST)
    sessions = list_of_program(home, program) if program is not None else []
    if not sessions:
        sys.stderr.write(f"gatepost: no session of {TITLES[_SHELL_HOST]} runs this command, so nothing waits\n")
    return max(sessions, key=lambda each: each[1], default=(None, 0))[0]


def _become_waiter(options: Mapping[str, Any]) -> NoReturn:
    command = [sys.executable, "-I", "-S", waiter.__file__, json.dumps(options)]
    os.execv(command[0], command)  # noqa: S606 (our own program)


def check(home: str, environ: Mapping[str, str], session: str) -> int:
    """Print since when the session could have been shown an item, if it is to be woken now; the wake is recorded."""
    from gatepost.guests import wake_actions as wakes
    from gatepost.guests.waiters_background import end_gone  # slow to import

    entry = HookEntry(home)
    try:
        context = entry.build_context(session, entry.load_config(environ, lambda _: None))
        if context.store is not None:
            end_gone(context.store)
        since = context.run_sync(wakes.take_wake, session, is_running=host_process.is_running)
    except GatepostError:
        return 1
    finally:
        entry.close()
    if since is None:
        return 1
    sys.stdout.write(f"{since}\n")
    sys.stdout.flush()
    return 0


def _take_lock(path: Path) -> bool:
    """Take the lock of waiters, which ends with this process and stays when it is replaced."""
    import fcntl

    descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return False
    os.set_inheritable(descriptor, True)
    return True


def _build_options(
    home: str, folder: str, session: str, config: HookConfig, environ: Mapping[str, str], host: str
) -> dict[str, Any]:
    from gatepost.stores.statements import get_statement

    waker = host_process.name_process(os.getpid())
    program = host_process.find_program(environ, host)
    variables = {name: value for name, value in environ.items() if name.startswith("GATEPOST_")}
    processes = {"waker": waker, "program": program}
    request = {"v": 1, "op": "wait", "session": session, **processes, "env": variables, "cwd": home}
    return {
        "home": home,
        "folder": folder,
        "program": program or f"? {environ.get('CLAUDE_PID') or os.getppid()}",
        "request": request,
        "database": config.file,
        "agent": None,
        "query": get_statement("sqlite", "guests/sessions/has_wake_reason"),
        "check": [sys.executable, "-m", "gatepost.cli.main", "hook", WAIT, CHECK, session],
    }


def _wait_for_start(context: HookContext, options: Mapping[str, Any]) -> str | None:
    """
    Wait until the hook that runs beside this has recorded that the session has begun. Then record in a SQLite store
    that it has a waiter, and return the agent of the session; a gateway does that for another store.
    """
    id, request = context.session.id, options["request"]
    processes = {"waker": request["waker"], "program": request["program"]}
    deadline = time.monotonic() + _REGISTRATION_TIME
    while time.monotonic() < deadline:
        if host_process.is_gone(options["program"]):
            return None
        if not has_ended(context.home, id):
            if options["database"] is None:
                return None
            if context.run_sync(sessions.arm, id, method=reachability.WAITER, **processes):
                return context.read_sync(sessions.find, id).agent
        time.sleep(_POLL_INTERVAL)
    raise Unavailable(f"the session {id!r} is not known to have begun, so nothing waits for it")
