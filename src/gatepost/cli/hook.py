"""
`gatepost hook EVENT [--host HOST] [--agent NAME]`: what the program of a guest calls, thousands of times, mostly for
nothing.

With a gateway in this home it only carries: stdin to the gateway's socket, the answer to stdout. Without one it runs
the chain itself. Which of the two is decided here, before anything is imported that takes time.

    hook     -> {"v": 1, "op": "hook", "argv": [...], "env": {...}, "cwd": "...", "stdin": "...",
                "daemon": false}
    gateway  <- an empty line now and then, as long as it is at it
    gateway  <- {"stdout": "...", "stderr": "...", "exit": 0, "claim": true}
    hook     -> {"printed": true}      once all of it is out; only after a claim

It fails open. Whatever goes wrong, the guest's program goes on: nothing is printed, or all of an answer is, stderr says
why, and the exit code is none that a host takes for a verdict.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    from collections.abc import Generator, Mapping, Sequence

    from gatepost.hook_entry import HookResponse

USAGE = "gatepost hook EVENT [--host claude|codex|gemini|cursor] [--agent NAME]"
_HOSTS = ("claude", "codex", "gemini", "cursor")
_AGENT = "GATEPOST_AGENT"
#: what each host names its project by; Codex runs hooks in it, wherever its commands go
_PROJECTS = {"claude": "CLAUDE_PROJECT_DIR", "gemini": "GEMINI_PROJECT_DIR", "cursor": "CURSOR_PROJECT_DIR"}
#: how many processes may stand between us and Codex, and Codex
_SHELLS = 3
#: an exit code that hosts report and do not act on, unlike 2
TROUBLE = 1

#: seconds in which a gateway gives a sign of life, or is taken for hung; it gives one every two. A host that ends waits
#: for nobody
_PATIENCE = 4.5
_AT_THE_END = 2.0
#: seconds for the last word, which nothing depends on
_FAREWELL = 2.0
#: seconds after which a chain that waits for something looks again
_GLANCE = 1.0


def answer(arguments: "Sequence[str]") -> int:
    """Answer a hook; return how to end. Nothing is raised that could be helped."""
    try:
        call = _parse(arguments)
        if call is None:
            _complain(f"wrong use of a hook: use {USAGE}")
            return TROUBLE
        if sys.stdout is None:  # the next file or socket that is opened would have its number, and what is printed
            _complain("the host is told nothing: stdout is closed")
            return 0
        from gatepost import paths

        told = None
        project = os.environ.get(_PROJECTS.get(call.host, ""))
        try:
            home, _ = paths.find_home(os.environ, project=project)
        except FileNotFoundError:  # where we are is gone; the host may know better
            told = _told()
            cwd = _told_cwd(told)
            if cwd is None:
                _complain("the working directory is gone, and the host has named no other")
                return 0
            home, _ = paths.find_home(os.environ, cwd, project=project)
        if not os.path.isdir(home):  # nobody lives here
            return 0
        told = _told() if told is None else told
        code = _by_gateway(home, call, told)
        return code if code is not None else _here(home, call, told)
    except KeyboardInterrupt:
        return 130
    except BaseException as error:  # noqa: BLE001 (whatever it was, the host goes on)
        _complain(getattr(error, "message", None) or f"{type(error).__name__}: {error}")
        if os.environ.get("GATEPOST_DEBUG"):
            import traceback

            traceback.print_exc()
        return 0


def _told() -> str:
    return sys.stdin.buffer.read().decode(errors="replace") if sys.stdin is not None else ""


def _told_cwd(told: str) -> str | None:
    from gatepost.hook_entry import parse_payload

    document = parse_payload(told, [])
    cwd = document.get("cwd") if isinstance(document, dict) else None
    return cwd if isinstance(cwd, str) and os.path.isabs(cwd) else None


class _Call:
    """How a host has called us."""

    def __init__(self, event: str, host: str, agent: str | None) -> None:
        self.event = event
        self.host = host
        #: --agent is said here and now, and wins over what the environment says
        self.environ: Mapping[str, str] = os.environ if agent is None else {**os.environ, _AGENT: agent}
        #: whether who the agent is was found in an environment that other terminals share
        self.of_daemon = agent is None and event.lower() == "sessionstart" and _is_agent_of_daemon(host)


def _parse(arguments: "Sequence[str]") -> _Call | None:
    """Read the words of the command; None if they are wrong."""
    rest = list(arguments)
    given: dict[str, str] = {}
    at = 0
    while at < len(rest):
        name, equals, value = rest[at].partition("=")
        if name not in ("--host", "--agent"):
            at += 1
            continue
        if name in given or not (equals or at + 1 < len(rest)):
            return None
        given[name] = value if equals else rest[at + 1]
        del rest[at : at + (1 if equals else 2)]
    host, agent = given.get("--host", "claude"), given.get("--agent")
    if len(rest) != 1 or not rest[0] or rest[0].startswith("-") or host not in _HOSTS or agent == "":
        return None
    return _Call(rest[0], host, agent)


def _is_agent_of_daemon(host: str) -> bool:
    """
    Tell whether GATEPOST_AGENT was inherited from a background service, which has the environment of the first terminal
    that needed it. Claude Code gives background sessions a variable; what its `env` setting says was not inherited.
    Codex gives nothing, but our parent is its server, perhaps with a shell between; without /proc that cannot be told.
    """
    agent = os.environ.get(_AGENT)
    if not agent:
        return False
    if host == "claude" and "CLAUDE_JOB_DIR" in os.environ:
        inherited = _read_process(os.environ.get("CLAUDE_PID", ""), "environ")
        return not inherited or f"{_AGENT}={agent}" in inherited
    parent = str(os.getppid())
    for _ in range(_SHELLS if host == "codex" else 0):
        words = _read_process(parent, "cmdline")
        if "app-server" in words and "--listen" in words:
            return True
        fields = " ".join(_read_process(parent, "stat")).rpartition(")")[2].split()
        parent = fields[1] if len(fields) > 1 else ""
    return False


def _read_process(id: str, name: str) -> list[str]:
    """Return what the system says of a process; nothing if it says nothing."""
    try:
        with open(f"/proc/{id}/{name}", "rb") as file:
            return file.read().decode(errors="replace").split("\0")
    except OSError:
        return []


def _by_gateway(home: str, call: _Call, told: str) -> int | None:
    """Have the gateway of this home answer; None if there is none, or it does not answer."""
    import json

    address = _address(home)
    if address is None:
        return None
    import _socket  # what `socket` is made of; that makes enumerations of all its names, which takes as long as we do

    line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        line.settimeout(_AT_THE_END if call.event.lower() == "sessionend" else _PATIENCE)
        try:
            line.connect(address)
            line.sendall(json.dumps(_question(call, told)).encode() + b"\n")
            said = json.loads(_line(line))
            if "error" in said:
                raise ValueError(said["error"])
            stdout, stderr, code = said["stdout"], said["stderr"], int(said["exit"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            if not isinstance(error, ConnectionRefusedError | FileNotFoundError):
                _complain(f"the gateway did not answer: {error}")
            return None
        _print(stdout, stderr)
        if said.get("claim"):
            _confirm(line)
    finally:
        line.close()
    return code


def _address(home: str) -> str | None:
    """Where the gateway of this home listens; None where it has none, or one that somebody else has put there."""
    import json

    from gatepost import paths

    notice = os.path.join(home, "gateway.json")
    try:
        address = json.loads(paths.read_trusted_file(notice, reference=home)).get("socket")
        if isinstance(address, str):
            paths.check_socket(address, reference=home)
    except FileNotFoundError:
        return None
    except OSError as error:
        _complain(f"{notice!r} is not believed: {error}")
        return None
    except (ValueError, AttributeError, RecursionError):
        return None
    return address if isinstance(address, str) else None


def _question(call: _Call, told: str) -> dict[str, object]:
    return {
        "v": 1,
        "op": "hook",
        "argv": [call.event, "--host", call.host],
        "env": {name: value for name, value in call.environ.items() if name.startswith("GATEPOST_")},
        "cwd": _cwd(),
        "stdin": told,
        "daemon": call.of_daemon,
    }


def _cwd() -> str:
    """The working directory; nothing if it is gone."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def _line(line: "_socket.socket") -> bytes:
    """The answer: the first line with something in it."""
    heard = bytearray()
    while True:
        more = line.recv(65_536)
        if not more:
            raise ConnectionError("it hung up")
        heard += more
        if heard.endswith(b"\n") and (said := heard.strip()):
            return bytes(said)


def _confirm(line: "_socket.socket") -> None:
    """Say that all is out, and wait until that is noted, so that the next hook finds it so."""
    line.settimeout(_FAREWELL)
    try:
        line.sendall(b'{"printed": true}\n')
        line.recv(1)
    except OSError:  # then it is shown once more
        pass


def _here(home: str, call: _Call, told: str) -> int:
    """Run the chain in this process."""
    from pathlib import Path

    from gatepost.hook_entry import HookCall, HookEntry

    hook = HookCall(
        event=call.event, host=call.host, stdin=told, environ=call.environ, cwd=_cwd(), is_from_daemon=call.of_daemon
    )
    porch = HookEntry(Path(home))
    out = _aside()
    try:
        said = _said(porch.receive(hook))
        try:
            _print(said.output.stdout, said.output.stderr, out)
        except BaseException:
            said.on_failed()
            raise
        said.on_printed()
    finally:
        porch.close()
    return int(said.output.exit_code)


def _aside() -> int:
    """Have whatever handlers print, and what they run, go to stderr: it is not for the host. Return where that is."""
    host = os.dup(1)
    try:
        os.dup2(2, 1)
    except OSError:  # there is none
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return host


def _said(visit: "Generator[object, None, HookResponse]") -> "HookResponse":
    from time import sleep

    while True:
        try:
            next(visit)
        except StopIteration as ended:
            said: HookResponse = ended.value
            return said
        sleep(_GLANCE)


def _print(stdout: str, stderr: str, out: int = 1) -> None:
    """Write it out. What is for the host goes in one piece and past every buffer, so that no half of it is seen."""
    left = memoryview(stdout.encode(errors="replace"))
    try:
        while left:
            left = left[os.write(out, left) :]
    except OSError as error:
        from gatepost.errors import Unavailable

        raise Unavailable(f"the host is told nothing: stdout cannot be written to: {error.strerror}") from None
    _say(stderr)


def _complain(sentence: str) -> None:
    _say(f"gatepost: {sentence}\n")


def _say(text: str) -> None:
    try:
        os.write(2, text.encode(errors="replace"))
    except OSError:
        return  # nobody listens
