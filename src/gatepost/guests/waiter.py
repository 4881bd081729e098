"""
The waiter: a small process that waits until the inbox of an idle session has an item, and then ends with 2, which wakes
the session (`asyncRewake` of Claude Code).

It runs for as long as its session, so it is one file that imports nothing but built-in modules (`python -I -S`), and
stays below 15 MB. `wait_commands.py` prepares it: it takes the lock of the session, of which there is one, and passes
on what the waiter has to know as one argument.

    with a gateway      it waits on the gateway's socket. The gateway decides, and says when to wake (`hook_socket.py`)
    without             every `LOOK_INTERVAL` seconds it looks whether the SQLite store has changed and has an item;
                        then it asks `gatepost hook wait --check`, which decides by the same rule

It ends with its program, whose process it watches, and with its session. Before it wakes the session it leaves a token
in the session's folder and prints it, so that the hook of the prompt that follows recognises the wake. Nothing of an
item is printed here: the hook shows it.
"""

import json
import os
import select
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

#: seconds between two looks without a gateway, and until it looks also if the store has not changed
LOOK_INTERVAL: "Final" = 3.0
_MAX_LOOK_INTERVAL: "Final" = 60.0
#: seconds for a gateway to take the connection
_CONNECT_TIMEOUT: "Final" = 5.0
#: the exit code that wakes the session
WAKE: "Final" = 2
#: beside the state of a session: how its hooks recognise a wake
WAKE_FILE: "Final" = "wake.json"
_TEXT: "Final" = "Gatepost: items are pending in the inbox of this agent, and are shown with this notification"


class Waiter:
    """Waits for one session. `options` are those of `wait_commands.py`."""

    def __init__(self, options: "dict[str, Any]") -> None:
        self._options = options
        self._folder: str = options["folder"]
        self._program = _open_process(options["program"])
        self._database_stamp: object = None
        self._looked_at = 0.0

    def run(self) -> int:
        """Wait; return the exit code."""
        while not self._is_over():
            since = self._wait_at_gateway()
            if since is None:
                since = self._look()
            if since is not None:
                self._leave_token(since)
                return WAKE
            self._sleep(LOOK_INTERVAL)
        if self._program is None and self._options["database"] is not None:
            self._ask()  # which records that the program has gone
        return 0

    def _is_over(self) -> bool:
        """Return True if the program or the session has ended."""
        if self._program is None:
            return True
        try:
            with open(os.path.join(self._folder, "state.json"), "rb") as file:
                return bool(json.load(file).get("state") == "ended")
        except FileNotFoundError:
            return not os.path.isdir(self._folder)
        except (OSError, ValueError, AttributeError):
            return False

    def _sleep(self, seconds: float) -> None:
        """Wait, but not longer than the program runs."""
        self._wait_for(None, seconds)

    def _wait_for(self, connection: "Any", seconds: "float | None") -> bool:
        """Wait until there is something to read from the connection; return False if the program ends before."""
        poll = select.poll()
        if isinstance(self._program, int):
            poll.register(self._program, select.POLLIN)
        if connection is not None:
            poll.register(connection, select.POLLIN)
        # Without a descriptor of the process its number is looked up, now and then.
        timeout = seconds if isinstance(self._program, int) else min(seconds or LOOK_INTERVAL, LOOK_INTERVAL)
        while True:
            ready = poll.poll(None if timeout is None else int(timeout * 1_000))
            if any(descriptor == self._program for descriptor, _ in ready) or not _is_running(self._program):
                self._program = None
                return False
            if ready or seconds is not None:
                return bool(ready)

    def _wait_at_gateway(self) -> "int | None":
        """
        Wait until the gateway says that the session is to be woken; return since when the item could have been shown.
        Return None if no gateway answers, or it goes away.
        """
        address = _find_socket(self._options["home"])
        if address is None:
            return None
        import _socket

        connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            connection.settimeout(_CONNECT_TIMEOUT)
            connection.connect(address)
            connection.sendall(json.dumps(self._options["request"]).encode() + b"\n")
            line = b""
            while not line.endswith(b"\n"):
                if not self._wait_for(connection, None):
                    return None
                chunk = connection.recv(4_096)
                if not chunk:
                    return None
                line += chunk
            answer = json.loads(line)
            return int(answer["wake"]) if "wake" in answer else None
        except (OSError, ValueError, TypeError):
            return None
        finally:
            connection.close()

    def _look(self) -> "int | None":
        """Look into a SQLite store; return since when the item could have been shown, None if there is none."""
        database = self._options["database"]
        if database is None:
            return None
        import time

        stamp = (_build_stamp(database), _build_stamp(f"{database}-wal"), _build_stamp(f"{self._folder}/state.json"))
        now = time.monotonic()
        if stamp == self._database_stamp and now < self._looked_at + _MAX_LOOK_INTERVAL:
            return None
        has_items = _has_items(database, self._options["query"], self._options["agent"])
        since = self._ask() if has_items else None
        if since is None and has_items:  # it is busy: a busy session is woken after a while
            return None
        self._database_stamp, self._looked_at = stamp, now
        return since

    def _ask(self) -> "int | None":
        """Ask whether to wake the session now."""
        reader, writer = os.pipe()
        command: list[str] = self._options["check"]
        environ = {**os.environ, "GATEPOST_HOME": self._options["home"]}
        actions = [(os.POSIX_SPAWN_DUP2, writer, 1), (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)]
        try:
            pid = os.posix_spawn(command[0], command, environ, file_actions=actions)
            os.close(writer)
            writer = -1
            answer = b""
            while chunk := os.read(reader, 4_096):
                answer += chunk
            os.waitpid(pid, 0)
            return int(answer) if answer.strip() else None
        except (OSError, ValueError):
            return None
        finally:
            os.close(reader)
            if writer >= 0:
                os.close(writer)

    def _leave_token(self, since: int) -> None:
        token = os.urandom(8).hex()
        path = os.path.join(self._folder, WAKE_FILE)
        temporary = f"{path}.{os.getpid()}"
        with open(os.open(temporary, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w") as file:
            json.dump({"token": token, "since": since}, file)
        os.replace(temporary, path)
        os.write(2, f"{_TEXT} (wake {token})\n".encode())


def _open_process(name: str) -> "int | str | None":
    """Return a descriptor of a process; its name if there are no descriptors here, and None if it has ended."""
    if not _is_running(name):
        return None
    try:
        descriptor = os.pidfd_open(int(name.split()[1]))
    except (AttributeError, OSError, ValueError, IndexError):
        return name if _is_running(name) else None
    return descriptor if _is_running(name) else None


def _is_running(process: "int | str | None") -> bool:
    """Return True if a process (its machine, id and start) runs; a descriptor is looked at elsewhere."""
    if not isinstance(process, str):
        return process is not None
    try:
        _, pid, *start = process.split()
        if not start:  # this system does not say when a process began
            os.kill(int(pid), 0)
            return True
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b") ")[2].split()
        return fields[19].decode() == start[0] and fields[0] != b"Z"
    except (OSError, ValueError, IndexError):
        return False


def _find_socket(home: str) -> "str | None":
    """Return the socket of this home's gateway; None if there is none, or others could have made it."""
    try:
        with open(os.path.join(home, "gateway.json"), "rb") as file:
            address = json.load(file).get("socket")
        status = os.stat(address)
        owners = {0, os.getuid(), os.stat(home).st_uid}
        return str(address) if status.st_uid in owners and not status.st_mode & 0o077 else None
    except (OSError, ValueError, TypeError, AttributeError):
        return None


def _build_stamp(path: str) -> "tuple[int, int] | None":
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _has_items(database: str, query: str, agent: str) -> bool:
    """Return True if the store has an item that should wake the agent."""
    import _sqlite3  # the package around it takes more memory than the rest of this process
    import time

    try:
        connection = _sqlite3.connect(database, timeout=1.0)
        try:
            row = connection.execute(query, {"agent": agent, "now": time.time_ns() // 1_000}).fetchone()
        finally:
            connection.close()
    except _sqlite3.Error:
        return False
    return row is not None


if __name__ == "__main__":
    sys.exit(Waiter(json.loads(sys.argv[1])).run())
