"""How the words of a command become values: times, JSON, and text from stdin or a file."""

import json
import sys
from pathlib import Path
from typing import IO, Any, Final

from gatepost.core import json_limits as strict, times
from gatepost.core.text import check_storable
from gatepost.core.times import Instant
from gatepost.errors import Invalid, TooLarge, Unavailable, quote_value

#: bytes that are read from stdin or a file; the limits of the store are smaller, and are checked where it is
_MAX_SIZE: Final = 4 * 1024 * 1024
_MAX_SECRET_SIZE: Final = 10_000
_LINE_END: Final = "\r\n"


def parse_past(text: str, option: str, now: Instant) -> Instant:
    """Return the time of `2026-02-18T15:07:00Z`, or of how long ago: `2h`."""
    try:
        return now - times.parse_duration(text)
    except Invalid:
        pass
    try:
        return times.parse_instant(text)
    except Invalid as error:
        raise Invalid(
            f"{option}: {error.message}", hint="write how long ago (2h, 1 day) or 2026-02-18T15:07:00Z"
        ) from None


def check_session(id: str) -> str:
    """Return the id of a guest session if it can be in the path of a request."""
    if "/" in id or "\x00" in id:
        raise Invalid(f"{quote_value(id)} is not the id of a guest session", hint="programs that run hooks show the id")
    return id


def read_text(text: str) -> str:
    """Return the text itself or, for `-`, what stdin has, without the line end that `echo` adds."""
    if text != "-":
        return _decode(text.encode(errors="surrogatepass"), "the text")
    content = _decode(_read(_open_stdin(), "stdin"), "stdin")
    if not content.strip():
        raise Invalid("stdin is empty", hint="the command that writes to it may have failed")
    return content.removesuffix("\n").removesuffix("\r")


def require_text(text: str) -> None:
    """Raise Invalid if there is nothing to read in a text."""
    if not text.strip():
        raise Invalid("the text is empty", hint="give TEXT, or - to read it from stdin")


def read_text_or_file(text: str) -> str:
    """Return the text itself, that of a file for `@FILE`, or what stdin has for `-`."""
    if text.startswith("@"):
        return _decode(_read_file(text[1:]), repr(text[1:])).rstrip(_LINE_END)
    return read_text(text)


def read_secret(text: str) -> str:
    """Return a secret: the text itself, that of a file for `@FILE`, or what stdin has for `-`."""
    secret = read_text_or_file(text).strip()
    if len(secret) > _MAX_SECRET_SIZE:
        raise TooLarge(f"a secret has at most {_MAX_SECRET_SIZE} characters")
    return secret


def read_json(text: str) -> Any:
    """Return a JSON value: of the text itself, of a file for `@FILE`, or of stdin for `-`."""
    if text == "-":
        raw, name, hint = _read(_open_stdin(), "stdin"), "stdin", "write one JSON value"
    elif text.startswith("@"):
        raw, name, hint = _read_file(text[1:]), repr(text[1:]), "write one JSON value"
    else:
        raw, name = text.encode(errors="surrogatepass"), quote_value(text)
        hint = """write it as '{"name": "value"}', in single quotes"""
    value = strict.parse_json(raw, name, hint=hint)
    check_storable("value", json.dumps(value, ensure_ascii=False))  # an escape can be half of a character
    return value


def read_json_object(text: str) -> dict[str, Any]:
    """Return a JSON object: of the text itself, of a file for `@FILE`, or of stdin for `-`."""
    value = read_json(text)
    if not isinstance(value, dict):
        raise Invalid(f"{quote_value(value)} is not a JSON object", hint="""write it as '{"name": "value"}'""")
    return value


def read_object(name: str) -> dict[str, Any]:
    """Return an object from a file, TOML if its name ends so and else JSON, or from stdin for `-`."""
    label = "stdin" if name == "-" else repr(name)
    raw = _read(_open_stdin(), label) if name == "-" else _read_file(name)
    if name.endswith(".toml"):
        import tomllib

        try:
            return tomllib.loads(_decode(raw, label))
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise Invalid(f"{label} is not TOML: {str(error).lower()}") from None
    hint = "write one JSON object, or use a file whose name ends in .toml"
    document = strict.parse_json(raw, label, hint=hint)
    if not isinstance(document, dict):
        raise Invalid(f"{label} is not a JSON object", hint=hint)
    return document


def read_document(name: str) -> bytes:
    """Return the whole of a file, or of stdin for `-`, of any size."""
    if name == "-":
        return _open_stdin().read()
    try:
        with open_file(name) as file:
            return file.read()
    except OSError as error:
        raise Unavailable(f"{name!r} cannot be read: {error.strerror}") from None


#: the functions for which `-` is stdin
STDIN_READERS: Final = (
    read_text,
    read_text_or_file,
    read_secret,
    read_json,
    read_json_object,
    read_object,
    read_document,
)


def _read_file(name: str) -> bytes:
    try:
        with open_file(name) as file:
            return _read(file, repr(name))
    except OSError as error:
        raise Unavailable(f"{name!r} cannot be read: {error.strerror}") from None


def open_file(name: str) -> IO[bytes]:
    """Open a file that a command names. If it cannot be opened, the command is wrong."""
    if not name:
        raise Invalid("the name of a file is empty", hint="name a file to read")
    try:
        return Path(name).open("rb")
    except (OSError, ValueError) as error:
        raise Invalid(f"{name!r} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _read(stream: IO[bytes], name: str) -> bytes:
    """Return all that a stream has, but never much more than may be stored; a line end comes on top."""
    raw = stream.read(_MAX_SIZE + len(_LINE_END) + 1)
    if len(raw) > _MAX_SIZE + len(_LINE_END):
        raise TooLarge(f"{name} has more than {_MAX_SIZE} bytes, which is the limit", hint="shorten it")
    return raw


def _decode(raw: bytes, name: str) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise Invalid(
            f"{name} is not valid UTF-8 at byte {error.start + 1}", hint="convert it first, such as with iconv"
        ) from None


def _open_stdin() -> IO[bytes]:
    if sys.stdin is None:
        raise Unavailable("there is no stdin to read", hint="give the text itself instead of -")
    return sys.stdin.buffer


def parse_choice(text: str) -> dict[str, str]:
    """Return the id and the label of `ship=Ship it`, or of an id alone."""
    id, equals, label = text.partition("=")
    return {"id": id.strip(), "label": label.strip() if equals else id.strip()}
