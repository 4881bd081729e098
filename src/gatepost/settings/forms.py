"""How the value of a setting is written, in `gatepost.toml` and in the environment."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from gatepost.core import address, gate, times
from gatepost.core.times import Duration
from gatepost.errors import Invalid
from gatepost.telemetry import hide_secrets

_KIB: Final = 1024
_MIB: Final = 1024 * _KIB
_LIST_HINT: Final = 'name each as OWNER/NAME: ["acme/shop", "acme/site"]'
#: bytes of a key for HS256 (RFC 7518, section 3.2)
_SHORTEST_SIGNING_SECRET: Final = 32


@dataclass(frozen=True, slots=True)
class Form:
    #: what it is, for the docs
    name: str
    #: from what TOML or the environment has, and the folder that relative paths start from
    read: Callable[[Any, Path], Any]
    show: Callable[[Any], str] = str
    #: whether it is a string in TOML
    quoted: bool = True
    #: whether it may be a relative path
    relative: bool = False


def masked(text: str) -> str:
    """The text without the passwords of the URLs in it, nor what looks like one where a port should be."""
    text = re.sub(r"(?<=://)([^\s:/@]*):\S*@", r"\1:***@", text)
    text = re.sub(r"(?<=://)([^\s:/@\[]*):(?![0-9]*(?:[\s/?,'\"]|$))[^\s/?,@'\"]+(?!\S*@)", r"\1:***", text)
    return re.sub(r"(?i)(password=)[^&\s'\"]+", r"\1***", text)


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise Invalid(f"{value!r} is not {what}")
    return value.strip()


def _store(value: Any, folder: Path) -> str:
    url = _text(value, "a store")
    path = url.removeprefix("sqlite:///")
    if path in (url, "") or Path(path).is_absolute():
        return url
    return f"sqlite:///{str(folder).replace('%', '%25')}/{path}"


def _spool(value: Any, folder: Path) -> str:
    path = _text(value, "the path of a spool")
    if path.count("<session>") != 1 or not path.endswith("<session>.jsonl") or "\x00" in path:
        raise Invalid(
            f"{path!r} is not the path of a spool", hint="end it in <session>.jsonl, as in spool/<session>.jsonl"
        )
    try:
        return str(folder / Path(path).expanduser())
    except RuntimeError:
        raise Invalid(f"{path!r} is with nobody whose home is known here", hint="write the whole path") from None


def _entity(value: Any, _: Path) -> str:
    text = _text(value, "the name of an entity")
    if not isinstance(address.parse(text), address.EntityAddress):
        raise Invalid(f"{text!r} is not one entity", hint="name one")
    return text


def _duration(value: Any, _: Path) -> Duration:
    return times.parse_duration(value if isinstance(value, str) else repr(value))


def _whole(value: Any, _: Path, *, least: int, most: int) -> int:
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str) or not re.fullmatch(r"[0-9]{1,18}", text) or not least <= int(text) <= most:
        raise Invalid(f"{value!r} is not a whole number from {least} to {most}")
    return int(text)


def _size(value: Any, _: Path, *, most: int = 64 * _MIB) -> int:
    match = re.fullmatch(r"([0-9]{1,12}) ?(B|KiB|MiB)?", value if isinstance(value, str) else repr(value))
    size = int(match[1]) * {"KiB": _KIB, "MiB": _MIB}.get(match[2], 1) if match else 0
    if not 0 < size <= most:
        raise Invalid(f"{value!r} is not a size", hint=f"write 65536, 64KiB or 1MiB, {_shown_size(most)} at most")
    return size


def _shown_size(size: int) -> str:
    for unit, scale in (("MiB", _MIB), ("KiB", _KIB)):
        if size % scale == 0:
            return f"{size // scale}{unit}"
    return f"{size}B"


def _transport(value: Any, _: Path) -> str:
    url = _text(value, "a transport")
    if not re.match(r"(memory|socket|postgres):$|(redis|rediss|nats|tls|unix)://", url):
        raise Invalid(f"{masked(url)!r} is not a transport", hint="use socket:, postgres:, redis://... or nats://...")
    return url


def _word(value: Any, _: Path) -> str:
    return _text(value, "a text")


def _signing_secret(value: Any, _: Path) -> str:
    """Read a secret that tokens are signed with; it is not quoted, whatever is wrong with it."""
    if not isinstance(value, str):
        raise Invalid("what is set is not a text")
    secret = value.strip()
    if (size := len(secret.encode(errors="surrogatepass"))) < _SHORTEST_SIGNING_SECRET:
        raise Invalid(
            f"the secret has {size} bytes, and HS256 needs {_SHORTEST_SIGNING_SECRET} or more",
            hint="`openssl rand -base64 32` makes one; the issuer of the tokens needs the same",
        )
    return secret


def _host(value: Any, _: Path) -> str:
    text = _text(value, "an address to listen on")
    if not re.fullmatch(r"[A-Za-z0-9.:-]+", text):
        raise Invalid(f"{text!r} is not an address to listen on", hint="use 127.0.0.1, or the address of this machine")
    return text


def _yes_or_no(value: Any, _: Path) -> bool:
    if str(value).lower() not in ("true", "false"):
        raise Invalid(f"{value!r} is neither true nor false")
    return str(value).lower() == "true"


def _repositories(value: Any, _: Path) -> tuple[str, ...]:
    """A list in TOML; in the environment it is written in the same way, or with commas alone."""
    names = re.split(r"\s*,\s*", value.strip().strip("[]")) if isinstance(value, str) else value
    if not isinstance(names, list):
        raise Invalid(f"{value!r} is not a list of repositories", hint=_LIST_HINT)
    found = [name.strip(" \"'") if isinstance(value, str) else name for name in names if name != ""]
    for name in found:
        if not isinstance(name, str) or not gate.is_repository(name):
            raise Invalid(f"{name!r} is not a repository on GitHub", hint=_LIST_HINT)
    return tuple(found)


def _format_list(names: Sequence[str]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"


def one_of(*words: str) -> Form:
    def read(value: Any, _: Path) -> str:
        if value not in words:
            raise Invalid(f"{value!r} is not one of {', '.join(words)}")
        return str(value)

    return Form(f"one of {', '.join(f'`{word}`' for word in words)}", read)


TRANSPORT: Final = Form("a URL: `memory:`, `socket:`, `postgres:`, `redis://...` or `nats://...`", _transport, masked)
TEXT: Final = Form("a text", _word)
#: a text that may hold a password
URL: Final = Form("a URL", _word, hide_secrets)
COMMAND: Final = Form("a text", _word, hide_secrets)
SIGNING_SECRET: Final = Form(
    f"a secret of at least {_SHORTEST_SIGNING_SECRET} bytes; it is never shown",
    _signing_secret,
    lambda value: "***" if value else "",
)
HOST: Final = Form("an address of this machine", _host)
STORE: Final = Form("a URL: `sqlite:///FILE` or `postgresql://...`", _store, masked, relative=True)
SPOOL: Final = Form("a path that ends in `<session>.jsonl`", _spool, relative=True)
REPOSITORIES: Final = Form("a list of `OWNER/NAME`", _repositories, _format_list, quoted=False)
ENTITY: Final = Form("a name or an alias", _entity)
YES_OR_NO: Final = Form("`true` or `false`", _yes_or_no, lambda value: str(value).lower(), quoted=False)
DURATION: Final = Form("a duration, such as `90s`, `10m` or `1 day`", _duration, times.format_duration)
SIZE: Final = Form("a size, such as `65536`, `64KiB` or `1MiB`", _size, _shown_size)


def whole(least: int, most: int) -> Form:
    return Form(f"a whole number from {least} to {most}", partial(_whole, least=least, most=most), quoted=False)


def whole_or_auto(least: int, most: int) -> Form:
    def read(value: Any, folder: Path) -> int | str:
        return "auto" if value == "auto" else _whole(value, folder, least=least, most=most)

    return Form(f"a whole number from {least} to {most}, or `auto`", read)
