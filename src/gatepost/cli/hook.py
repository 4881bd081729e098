"""
`gatepost hook EVENT [--host HOST]`: what the program of a guest calls, thousands of times, mostly for nothing.

With a gateway in this home it only carries: stdin to the gateway's socket, the answer to stdout. Without one it runs
the chain itself. Which of the two is decided here, before anything is imported that takes time.

    hook     -> {"v": 1, "op": "hook", "argv": [...], "env": {...}, "cwd": "...", "stdin": "..."}
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
    from collections.abc import Generator, Sequence

    from gatepost.porch import Said

USAGE = "gatepost hook EVENT [--host claude|codex|gemini|cursor]"
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
        words = _words(arguments)
        if words is None:
            _complain(f"wrong use of a hook: use {USAGE}")
            return TROUBLE
        from gatepost import home as houses

        told = None
        try:
            home, _ = houses.find(os.environ)
        except FileNotFoundError:  # where we are is gone; the host may know better
            told = _told()
            cwd = _told_cwd(told)
            if cwd is None:
                _complain("the working directory is gone, and the host has named no other")
                return 0
            home, _ = houses.find(os.environ, cwd)
        if not os.path.isdir(home):  # nobody lives here
            return 0
        told = _told() if told is None else told
        code = _by_gateway(home, words, told)
        return code if code is not None else _here(home, words, told)
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
    from gatepost.porch import payload

    document = payload(told, [])
    cwd = document.get("cwd") if isinstance(document, dict) else None
    return cwd if isinstance(cwd, str) and os.path.isabs(cwd) else None


def _words(arguments: "Sequence[str]") -> tuple[str, str] | None:
    """The event and the host; None if something else is said."""
    rest = list(arguments)
    host = "claude"
    for place, word in enumerate(rest):
        if word == "--host" and place + 1 < len(rest):
            host = rest[place + 1]
            del rest[place : place + 2]
            break
        if word.startswith("--host="):
            host = word[7:]
            del rest[place]
            break
    if len(rest) != 1 or not rest[0] or rest[0].startswith("-") or host not in ("claude", "codex", "gemini", "cursor"):
        return None
    return rest[0], host


def _by_gateway(home: str, words: tuple[str, str], told: str) -> int | None:
    """Have the gateway of this home answer; None if there is none, or it does not answer."""
    import json

    address = _address(home)
    if address is None:
        return None
    import _socket  # what `socket` is made of; that makes enumerations of all its names, which takes as long as we do

    line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        line.settimeout(_AT_THE_END if words[0].lower() == "sessionend" else _PATIENCE)
        try:
            line.connect(address)
            line.sendall(json.dumps(_question(words, told)).encode() + b"\n")
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

    from gatepost import home as houses

    notice = os.path.join(home, "gateway.json")
    try:
        address = json.loads(houses.read(notice, like=home)).get("socket")
        if isinstance(address, str) and not houses.trusted(address, like=home):
            raise PermissionError(f"the socket {address!r} belongs to another user")
    except FileNotFoundError:
        return None
    except OSError as error:
        _complain(f"{notice!r} is not believed: {error}")
        return None
    except (ValueError, AttributeError, RecursionError):
        return None
    return address if isinstance(address, str) else None


def _question(words: tuple[str, str], told: str) -> dict[str, object]:
    event, host = words
    return {
        "v": 1,
        "op": "hook",
        "argv": [event, "--host", host],
        "env": {name: value for name, value in os.environ.items() if name.startswith("GATEPOST_")},
        "cwd": _cwd(),
        "stdin": told,
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


def _here(home: str, words: tuple[str, str], told: str) -> int:
    """Run the chain in this process."""
    from pathlib import Path

    from gatepost.porch import Hook, Porch

    event, host = words
    hook = Hook(event=event, host=host, told=told, environ=os.environ, cwd=_cwd())
    porch = Porch(Path(home))
    out = _aside()
    try:
        said = _said(porch.receive(hook))
        try:
            _print(said.answer.stdout, said.answer.stderr, out)
        except BaseException:
            said.unprinted()
            raise
        said.printed()
    finally:
        porch.close()
    return int(said.answer.exit)


def _aside() -> int:
    """Have whatever handlers print, and what they run, go to stderr: it is not for the host. Return where that is."""
    host = os.dup(1)
    try:
        os.dup2(2, 1)
    except OSError:  # there is none
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return host


def _said(visit: "Generator[object, None, Said]") -> "Said":
    from time import sleep

    while True:
        try:
            next(visit)
        except StopIteration as ended:
            said: Said = ended.value
            return said
        sleep(_GLANCE)


def _print(stdout: str, stderr: str, out: int = 1) -> None:
    """Write it out. What is for the host goes in one piece and past every buffer, so that no half of it is seen."""
    left = memoryview(stdout.encode(errors="replace"))
    while left:
        left = left[os.write(out, left) :]
    _say(stderr)


def _complain(sentence: str) -> None:
    _say(f"gatepost: {sentence}\n")


def _say(text: str) -> None:
    try:
        os.write(2, text.encode(errors="replace"))
    except OSError:
        return  # nobody listens
