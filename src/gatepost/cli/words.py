"""How the words of a command line are read: numbers, times, JSON, and text from stdin or a file."""

import sys
import tomllib
from pathlib import Path
from typing import IO, Any, Final

from gatepost.core import strict, times
from gatepost.core.times import Instant
from gatepost.errors import Invalid, Malformed, TooLarge, Unavailable

_LONGEST_SECRET: Final = 10_000
_LINE_END: Final = "\r\n"


def given(text: str | None, option: str, asked: str = "who") -> str | None:
    """
    A word that may be left out but not be empty: an unset variable of a script must not pass for no word at all. What
    is `asked` for is who, which, what or where.
    """
    if text is not None and not text.strip():
        raise Invalid(f"{option} is empty", hint=f"leave it out, or say {asked}")
    return text


def number(text: str, option: str, *, least: int = 1, most: int = 10_000) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 9 or not least <= int(text) <= most:
        raise Invalid(f"{text!r} is not a number for {option}", hint=f"use {least} to {most}")
    return int(text)


def moment(text: str, option: str, now: Instant) -> Instant:
    """A time, or how long ago: `2026-02-18T15:07:00Z` or `2h`."""
    try:
        return now - times.parse_duration(text)
    except Invalid:
        pass
    try:
        return times.parse_instant(text)
    except Invalid:
        raise Invalid(
            f"{text!r} is not a time for {option}", hint="write how long ago (2h, 1 day) or 2026-02-18T15:07:00Z"
        ) from None


def content(text: str, limit: int) -> str:
    """The text itself, or with `-` what stdin has, without the line end that `echo` adds."""
    if text != "-":
        return _decoded(text.encode(errors="surrogatepass"), "TEXT")
    read = _decoded(_read(_stdin(), "stdin", limit), "stdin")
    return read.removesuffix("\n").removesuffix("\r")


def told(text: str, limit: int) -> str:
    """Text as it stands, from a file with `@FILE`, or from stdin with `-`."""
    if text.startswith("@"):
        return _decoded(_read_file(text[1:], limit), repr(text[1:])).rstrip("\r\n")
    return content(text, limit)


def document(name: str, limit: int) -> dict[str, Any]:
    """An object from a file, TOML if its name says so and JSON else, or with `-` JSON from stdin."""
    what = "stdin" if name == "-" else repr(name)
    raw = _read(_stdin(), what, limit) if name == "-" else _read_file(name, limit)
    if name.endswith(".toml"):
        try:
            return tomllib.loads(_decoded(raw, what))
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise Invalid(f"{what} is not TOML: {str(error).lower()}") from None
    try:
        found = strict.parse_json(raw, what)
    except Malformed as error:
        raise Invalid(error.message, hint="write one JSON object, or name the file something.toml") from None
    if not isinstance(found, dict):
        raise Invalid(f"{what} is not a JSON object", hint="write one JSON object, or name the file something.toml")
    return found


def secret(text: str) -> str:
    """A secret as it stands, from a file with `@FILE`, or from stdin with `-`, where nobody else can see it."""
    return told(text, _LONGEST_SECRET).strip()


def data(text: str, limit: int) -> Any:
    """JSON as it stands, from a file with `@FILE`, or from stdin with `-`."""
    if text == "-":
        raw, what = _read(_stdin(), "stdin", limit), "stdin"
    elif text.startswith("@"):
        raw, what = _read_file(text[1:], limit), repr(text[1:])
    else:
        raw, what = text.encode(errors="surrogatepass"), f"--data {text[:40]!r}"
    try:
        return strict.parse_json(raw, what)
    except Malformed as error:
        raise Invalid(error.message, hint="""write it as '{"name": "value"}', in single quotes""") from None


def _read_file(name: str, limit: int) -> bytes:
    try:
        with Path(name).open("rb") as file:
            return _read(file, repr(name), limit)
    except OSError as error:
        raise Unavailable(f"{name!r} cannot be read: {error.strerror}") from None


def _read(stream: IO[bytes], what: str, limit: int) -> bytes:
    """All of it, but never much more than may be stored, however much there is; a line end comes on top."""
    raw = stream.read(limit + len(_LINE_END) + 1)
    if len(raw) > limit + len(_LINE_END):
        raise TooLarge(f"{what} has over {limit} bytes, which is the limit", hint="send a reference to it instead")
    return raw


def _decoded(raw: bytes, what: str) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise Invalid(
            f"{what} is not valid UTF-8 at byte {error.start + 1}",
            hint="convert it first, such as with iconv",
        ) from None


def _stdin() -> IO[bytes]:
    if sys.stdin is None:
        raise Unavailable("there is no stdin to read")
    return sys.stdin.buffer
