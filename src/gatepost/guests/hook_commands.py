"""
`gatepost hook EVENT [--host HOST] [--agent NAME] [--home PATH]`: answer a hook of the program in which a guest runs.

A host calls this thousands of times, mostly when there is nothing to do, and waits for it. If a gateway runs in this
home, this process only forwards: stdin to the gateway's socket, and the answer to stdout. Else it runs the chain of
handlers itself. It chooses between the two before it imports anything that takes time.

    hook     -> {"v": 1, "op": "hook", "argv": [...], "env": {...}, "cwd": "...", "stdin": "...",
                "daemon": false, "process": [4711, 52.3], "program": "..."}
    gateway  <- an empty line every two seconds while it works
    gateway  <- {"stdout": "...", "stderr": "...", "exit": 0, "claim": true}
    hook     -> {"printed": true}      after all of it was printed, if the answer has a claim

It fails open. Whatever goes wrong, the host continues: it gets no answer or a whole one, stderr says why, and the exit
code is not one that a host takes for an answer.
"""

import os
import sys

from gatepost.core import light_json
from gatepost.guests.hooks import host_process

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    from collections.abc import Generator, Mapping, Sequence

    from gatepost.guests.hook_entry import HookResponse

USAGE = "gatepost hook EVENT [--host claude|codex|gemini|cursor|opencode] [--agent NAME] [--home PATH]"
_HOSTS = ("claude", "codex", "gemini", "cursor", "opencode")
_AGENT = "GATEPOST_AGENT"
_HOME = "GATEPOST_HOME"
#: in the place of an event: wait until the session is to be woken; and ask whether it is
WAIT, CHECK = "wait", "--check"
#: the variable in which each host names its project; Codex runs hooks in the project's folder
_PROJECTS = {"claude": "CLAUDE_PROJECT_DIR", "gemini": "GEMINI_PROJECT_DIR", "cursor": "CURSOR_PROJECT_DIR"}
#: an exit code that hosts report and do not act on, unlike 2
FAILURE = 1

#: seconds without a line from the gateway after which it counts as hung. A host that ends its session waits less
_ANSWER_TIMEOUT = 4.5
_SESSION_END_TIMEOUT = 2.0
#: seconds for the confirmation; if it is lost, the batch is printed again
_CONFIRM_TIMEOUT = 2.0
#: seconds between two steps of a chain that waits for something
_POLL_INTERVAL = 1.0


def answer(arguments: "Sequence[str]") -> int:
    """Answer a hook and return the exit code. It raises nothing."""
    try:
        checked_session = arguments[2] if len(arguments) == 3 and list(arguments[:2]) == [WAIT, CHECK] else None
        call = _parse_arguments([WAIT] if checked_session is not None else arguments)
        if call is None:
            _report(f"wrong use of a hook: use {USAGE}")
            return FAILURE
        if sys.stdout is None:  # the next file or socket would be opened as file descriptor 1, and get the output
            _report("the host gets no answer: stdout is closed")
            return 0
        from gatepost import paths

        stdin = None
        project = os.environ.get(_PROJECTS.get(call.host, ""))
        try:
            home, _ = paths.find_home(os.environ, project=project)
        except FileNotFoundError:  # the working directory is gone; the host may name another
            stdin = _read_stdin()
            cwd = _parse_cwd(stdin)
            if cwd is None:
                _report("the working directory is gone, and the host has named no other")
                return 0
            home, _ = paths.find_home(os.environ, cwd, project=project)
        if not os.path.isdir(home):  # Gatepost is not used here
            return 0
        if checked_session is not None:
            from gatepost.guests import wait_commands

            return wait_commands.check(home, os.environ, checked_session)
        if call.event == WAIT and call.host == "gemini":  # its model runs this in a shell, with nothing on stdin
            stdin = ""
        stdin = _read_stdin() if stdin is None else stdin
        if call.event == WAIT:
            from gatepost.guests import wait_commands

            return wait_commands.wait(home, call.environ, stdin, call.host)
        code = _ask_gateway(home, call, stdin)
        return code if code is not None else _run_chain(home, call, stdin)
    except KeyboardInterrupt:
        return 130
    except BaseException as error:  # noqa: BLE001 (whatever it is, the host continues)
        _report(getattr(error, "message", None) or f"{type(error).__name__}: {error}")
        if os.environ.get("GATEPOST_DEBUG"):
            import traceback

            traceback.print_exc()
        return 0


def _read_stdin() -> str:
    return sys.stdin.buffer.read().decode(errors="replace") if sys.stdin is not None else ""


def _parse_cwd(stdin: str) -> str | None:
    """Return the working directory that the host names in its input."""
    from gatepost.guests.hook_entry import parse_payload

    document = parse_payload(stdin, [])
    cwd = document.get("cwd") if isinstance(document, dict) else None
    return cwd if isinstance(cwd, str) and os.path.isabs(cwd) else None


class _Call:
    """The arguments of a hook, and the environment that goes with them."""

    def __init__(self, event: str, host: str, agent: str | None) -> None:
        self.event = event
        self.host = host
        #: --agent takes precedence over the variable
        self.environ: Mapping[str, str] = os.environ if agent is None else {**os.environ, _AGENT: agent}
        #: whether the name of the agent comes from the environment of a background service
        self.is_from_service = False
        if agent is None and event.lower() == "sessionstart" and os.environ.get(_AGENT):
            from gatepost.guests.hooks.background_service import is_agent_inherited

            self.is_from_service = is_agent_inherited(os.environ, host)
        #: the id and the start of this process; at the start of a session, the process of the host
        self.process = os.getpid(), host_process.find_start()
        self.program = host_process.find_program(os.environ, host) if event.lower() == "sessionstart" else None


def _parse_arguments(arguments: "Sequence[str]") -> _Call | None:
    """Return the call of the arguments; None if they are wrong. `argparse` and click take too long to import."""
    rest = list(arguments)
    options: dict[str, str] = {}
    index = 0
    while index < len(rest):
        name, equals, value = rest[index].partition("=")
        if name not in ("--host", "--agent", "--home"):
            index += 1
            continue
        if name in options or not (equals or index + 1 < len(rest)):
            return None
        options[name] = value if equals else rest[index + 1]
        del rest[index : index + (1 if equals else 2)]
    host, agent = options.get("--host", "claude"), options.get("--agent")
    if len(rest) != 1 or not rest[0] or rest[0].startswith("-") or host not in _HOSTS or agent == "":
        return None
    if home := options.get("--home"):  # it takes precedence, because the host may have the environment of another shell
        os.environ[_HOME] = home
    return _Call(rest[0], host, agent)


def _ask_gateway(home: str, call: _Call, stdin: str) -> int | None:
    """Print the answer of this home's gateway and return the exit code; None if no gateway answers."""
    address = _find_socket(home)
    if address is None:
        return None
    import _socket  # `socket` makes enumerations of all its names, which takes as long as the rest of a hook

    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        is_session_end = call.event.lower() == "sessionend"
        connection.settimeout(_SESSION_END_TIMEOUT if is_session_end else _ANSWER_TIMEOUT)
        try:
            connection.connect(address)
            connection.sendall(light_json.encode(_build_request(call, stdin)).encode() + b"\n")
            response = light_json.parse(_receive_line(connection).decode())
            if "error" in response:
                raise ValueError(response["error"])
            stdout, stderr, code = response["stdout"], response["stderr"], int(response["exit"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            if not isinstance(error, ConnectionRefusedError | FileNotFoundError):
                _report(f"the gateway did not answer: {error}")
            return None
        _print(stdout, stderr)
        if response.get("claim"):
            connection.settimeout(_CONFIRM_TIMEOUT)
            try:
                connection.sendall(b'{"printed": true}\n')
                connection.recv(1)
            except OSError:  # then the batch is printed again
                pass
    finally:
        connection.close()
    return code


def _find_socket(home: str) -> str | None:
    """Return the socket of this home's gateway; None if it has none, or if another user can have written it."""
    from gatepost import paths

    notice = os.path.join(home, "gateway.json")
    try:
        address = light_json.parse(paths.read_trusted_file(notice, reference=home).decode()).get("socket")
        if isinstance(address, str):
            paths.check_socket(address, reference=home)
    except FileNotFoundError:
        return None
    except OSError as error:
        _report(f"{notice!r} is not trusted: {error}")
        return None
    except (ValueError, AttributeError, RecursionError):
        return None
    return address if isinstance(address, str) else None


def _build_request(call: _Call, stdin: str) -> dict[str, object]:
    return {
        "v": 1,
        "op": "hook",
        "argv": [call.event, "--host", call.host],
        "env": {name: value for name, value in call.environ.items() if name.startswith("GATEPOST_")},
        "cwd": _find_cwd(),
        "stdin": stdin,
        "daemon": call.is_from_service,
        "process": call.process,
        "program": call.program or "",
    }


def _find_cwd() -> str:
    """Return the working directory; an empty text if it is gone."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def _receive_line(connection: "_socket.socket") -> bytes:
    """Return the first line that is not empty."""
    received = bytearray()
    while True:
        chunk = connection.recv(65_536)
        if not chunk:
            raise ConnectionError("it closed the connection")
        received += chunk
        if received.endswith(b"\n") and (line := received.strip()):
            return bytes(line)


def _run_chain(home: str, call: _Call, stdin: str) -> int:
    """Run the chain of handlers in this process, print the answer and return the exit code."""
    from gatepost.guests.hook_entry import HookCall, HookEntry
    from gatepost.guests.hooks.repeated_event import HookProcess

    hook = HookCall(
        event=call.event,
        host=call.host,
        stdin=stdin,
        environ=call.environ,
        cwd=_find_cwd(),
        is_from_service=call.is_from_service,
        process=HookProcess(*call.process),
        program=call.program,
    )
    entry = HookEntry(home)
    stdout = _redirect_stdout()
    try:
        response = _wait_for_response(entry.receive(hook))
        try:
            _print(response.output.stdout, response.output.stderr, stdout)
        except BaseException:
            response.on_failed()
            raise
        response.on_printed()
    finally:
        entry.close()
    return int(response.output.exit_code)


def _redirect_stdout() -> int:
    """Send what handlers print, and what they run prints, to stderr. Return a descriptor of the real stdout."""
    stdout = os.dup(1)
    try:
        os.dup2(2, 1)
    except OSError:  # there is no stderr
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return stdout


def _wait_for_response(steps: "Generator[object, None, HookResponse]") -> "HookResponse":
    """Run the steps of a chain to their end; each of them waits for something."""
    from time import sleep

    while True:
        try:
            next(steps)
        except StopIteration as end:
            response: HookResponse = end.value
            return response
        sleep(_POLL_INTERVAL)


def _print(stdout: str, stderr: str, descriptor: int = 1) -> None:
    """Write the answer. The host's part goes past every buffer, in one piece if possible: half of it is no answer."""
    remaining = memoryview(stdout.encode(errors="replace"))
    try:
        while remaining:
            remaining = remaining[os.write(descriptor, remaining) :]
    except OSError as error:
        from gatepost.errors import Unavailable

        raise Unavailable(f"the host gets no answer: stdout cannot be written to: {error.strerror}") from None
    _write_stderr(stderr)


def _report(sentence: str) -> None:
    _write_stderr(f"gatepost: {sentence}\n")


def _write_stderr(text: str) -> None:
    try:
        os.write(2, text.encode(errors="replace"))
    except OSError:
        return  # there is no stderr, so nothing more can be said
