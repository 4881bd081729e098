"""
The porch: where the hooks of guests are received, with a gateway or without one.

A guest waits while its hook starts, and it starts thousands of times with nothing to do. So what is set and which
handlers are installed is written down in the home, and as long as nothing changed of what it was made from (settings
files, variables, installed packages, this code), that is read and nothing else imported.
"""

import json
import os
import re
import sys
import zlib
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gatepost import home as houses
from gatepost.adapters.clock import SystemClock
from gatepost.core import unproved
from gatepost.core.instants import Instant
from gatepost.core.session import filename
from gatepost.core.unproved import PrintedBatch
from gatepost.errors import GatepostError, Unavailable
from gatepost.hooks import chain, visit, wire
from gatepost.hooks.chain import Handler, Listed, Wait
from gatepost.hooks.desk import Desk, Rules
from gatepost.hooks.occasion import Answer, Occasion, nothing
from gatepost.hooks.session import Session

if TYPE_CHECKING:
    from gatepost.ports import Spool, Store

#: the folder of the home in which it is written down, a file for each environment, and how many there may be
DIGESTS: Final = ".hooks"
_MOST: Final = 20
#: seconds that a hook waits for a store that another process writes to
BUSY: Final = 1.0
#: digits of a number that is read as one: Python refuses more, and nobody here calculates with them
_LONGEST_NUMBER: Final = 1_000
#: variables that change nothing of what is written down
_AGENT: Final = "GATEPOST_AGENT"
_INDIFFERENT: Final = {"GATEPOST_DEBUG", "GATEPOST_NIGHTLY", "GATEPOST_HOME", _AGENT}

#: under this the session notes that its person was warned; no gate is called so
_OF_DAEMON: Final = "_daemon"

_Key = list[Any]


class Hook(NamedTuple):
    """A hook as its host has called it."""

    event: str
    host: str
    #: what it wrote to stdin
    told: str
    environ: Mapping[str, str]
    cwd: str
    #: whether who the agent is was found in the environment of a background service
    of_daemon: bool = False


class Said(NamedTuple):
    """What to print. Afterwards call `printed`, or `unprinted` if it could not be; only `claim` needs that."""

    answer: Answer
    printed: Callable[[], None] = nothing
    unprinted: Callable[[], None] = nothing

    @property
    def claim(self) -> bool:
        return self.printed is not nothing


class Known(NamedTuple):
    """What hooks go by in this home."""

    rules: Rules
    limits: Mapping[str, Any]
    #: the store without its password, and its file where it is SQLite
    store: str
    file: str | None
    #: where spools are, with `<session>` in it
    spool: str
    handlers: tuple[Listed, ...] = ()


class Porch:
    """The hooks of one home."""

    def __init__(
        self, home: Path, *, store: "Store | None" = None, handlers: Sequence[Handler | Listed] | None = None
    ) -> None:
        """
        A gateway gives its `store` and the `handlers` it has found. Without them the store that is set is opened if it
        is SQLite, and what is known is written down for the next hook.
        """
        self._home = home
        self._store = store
        self._handlers = handlers
        #: by environment, with what it was made from
        self._known: dict[int, tuple[_Key, Known]] = {}
        self._opened: Store | None = None

    def close(self) -> None:
        """Let go of the store, if it was opened here."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def receive(self, hook: Hook) -> Generator[Wait, None, Said]:
        """Answer a hook. What it yields is to be waited for, what it returns is to be said."""
        notes: list[str] = []
        known = self._known_or_told(hook, notes)
        unread: list[str] = []
        occasion = wire.parse(hook.host, hook.event, payload(hook.told, unread))
        notes += unread
        if occasion.spare:
            return Said(answer=Answer())
        if not occasion.session:
            notes.append("the host has named no session")
            why = next(iter(unread), notes[-1])
            return Said(answer=_noted(self._unlooked(occasion, why, notes), notes))
        occasion = replace(occasion, cwd=occasion.cwd or hook.cwd)
        desk = self.desk(occasion.session, known)
        if known is None:
            desk.settings_problem = f"Gatepost does nothing in this session, because of its settings: {notes[0]}"
        desk.notes += notes
        desk.is_elsewhere = lambda: _is_elsewhere(self._home, hook.environ, occasion.cwd)
        theirs = self._handlers if self._handlers is not None else known.handlers if known else ()
        verdict = yield from visit.receive(desk, occasion, (*chain.BUILT_IN, *theirs))
        if hook.of_daemon:
            verdict = verdict.warned(*_warn_of_daemon(desk))
        try:
            answer = wire.render(occasion, verdict, wrap=desk.rules.format != "plain")
        except BaseException:
            verdict.unprinted()
            raise
        return Said(answer=_noted(answer, desk.notes), printed=verdict.printed, unprinted=verdict.unprinted)

    def _unlooked(self, occasion: Occasion, why: str, notes: list[str]) -> Answer:
        """What to say where nobody can tell whose hook it is: what is to hold in any case, holds."""
        from gatepost.hooks import gates

        try:
            return wire.render(occasion, gates.unlooked(self._home, occasion.event, why, notes.append))
        except Unavailable as error:
            notes.append(error.message)
            return Answer()

    def known(self, environ: Mapping[str, str], tell: Callable[[str], None]) -> Known:
        """What is set, and installed; a GatepostError if what is set makes no sense."""
        key = _key(self._home, environ)
        of, found = self._known.get(key[0], (None, None))
        if found is None or of != key:
            found = self._written(key) or self._found(key, environ, tell)
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[key[0]] = key, found
        # Apart from all else, because every agent on this machine may have its own.
        return found._replace(rules=found.rules._replace(agent=environ.get(_AGENT) or found.rules.agent))

    def _written(self, key: _Key) -> Known | None:
        if self._handlers is not None:
            return None
        with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
            document = json.loads(self._digest(key).read_bytes())
            if document.pop("key") == key:
                return _read(document)
        return None

    def _found(self, key: _Key, environ: Mapping[str, str], tell: Callable[[str], None]) -> Known:
        found = _found(self._home, environ)
        if self._handlers is None:
            from gatepost.hooks import plugins

            found = found._replace(handlers=tuple(plugins.found(tell)))
            with suppress(OSError):
                self._write(key, found)
        return found

    def _write(self, key: _Key, found: Known) -> None:
        path = self._digest(key)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        houses.write(str(path), json.dumps({"key": key, **_document(found)}))
        for old in sorted(path.parent.iterdir(), key=lambda each: each.stat().st_mtime)[:-_MOST]:
            old.unlink()

    def _digest(self, key: _Key) -> Path:
        return self._home / DIGESTS / f"{key[0]}.json"

    def _known_or_told(self, hook: Hook, notes: list[str]) -> Known | None:
        try:
            return self.known(hook.environ, notes.append)
        except GatepostError as error:
            notes.append(error.message + (f" (hint: {error.hint})" if error.hint else ""))
        except OSError as error:  # a path is relative to where we are, and that is gone
            notes.append(f"what is set cannot be read: {error}")
        return None

    def desk(self, session: str, known: Known | None) -> Desk:
        """What handlers have before them; without what is known, only what is in the session's files."""
        if known is None:
            return Desk(home=self._home, rules=Rules(), clock=SystemClock(), session=Session(self._home, session))
        return Desk(
            home=self._home,
            rules=known.rules,
            clock=SystemClock(),
            session=Session(self._home, session),
            reach=lambda: self._store or self._reach(known),
            spool=lambda: _spool(known.spool),
            waiting=lambda: _waiting(known.spool, session),
            unproved=lambda: _unproved(known.spool, session, self._home),
            glance=None if self._store else lambda agent, now: _has_items(known, agent, now),
        )

    def _reach(self, known: Known) -> "Store":
        """The store, if it is a SQLite file that is there; it is neither made nor migrated by a hook."""
        if known.file is None:
            raise Unavailable(f"without a gateway a hook reaches only a SQLite store, and {known.store!r} is none")
        if not os.path.exists(known.file):  # noqa: PTH110 (a string as it is)
            raise Unavailable(f"the store {known.store!r} is not there")
        from gatepost.adapters.stores.sqlite import SqliteStore
        from gatepost.core.limits import Limits
        from gatepost.tables import statements, versions

        store = SqliteStore(Path(known.file), busy=BUSY, clock=SystemClock(), limits=Limits(**known.limits))
        self._opened = store
        version, oldest = store.query(versions.read)
        newest = statements.newest("sqlite")
        if not oldest <= newest <= version:
            raise Unavailable(f"the store has schema {version}, and this code is for {newest}")
        return store


def payload(told: str, notes: list[str]) -> object:
    """What the host has told, as far as it can be read; None if it cannot, and a note says so."""
    told = told.removeprefix("\ufeff")
    with suppress(ValueError):
        try:
            return json.loads(told, parse_int=_whole)
        except RecursionError:
            document = json.loads(_outermost(told), parse_int=_whole)
            notes.append("what the host has written to stdin is nested too deeply; only what is outermost is read")
            return document
    notes.append("what the host has written to stdin is not JSON")
    return None


def _whole(digits: str) -> int | str:
    return int(digits) if len(digits) < _LONGEST_NUMBER else digits


def _outermost(told: str) -> str:
    """A JSON object with null for whatever is nested in it; ValueError if its brackets do not match."""
    kept, depth, since = "", 0, 0
    for token in re.finditer(r'"[^"\\]*(?:\\.[^"\\]*)*"|[][{}]', told, re.DOTALL):
        if token[0] in "[{":
            depth += 1
            if depth == 2:
                kept += told[since : token.start()] + "null"
        elif token[0] in "]}":
            depth -= 1
            if depth == 1:
                since = token.end()
    if depth:
        raise ValueError("brackets do not match")
    return kept + told[since:]


def _is_elsewhere(home: Path, environ: Mapping[str, str], cwd: str) -> bool:
    """Tell whether a command that is run in this folder finds another home."""
    try:
        found, _ = houses.find(environ, cwd or None)
    except (GatepostError, OSError):
        return True
    return not os.path.samefile(found, home) if os.path.exists(found) else True  # noqa: PTH110, PTH121 (as it is)


def _warn_of_daemon(desk: Desk) -> list[str]:
    """Return what the person is told, once a session, about a name that may be another terminal's."""
    with suppress(OSError):  # then it is said again
        if desk.session.warned(_OF_DAEMON):
            return []
        desk.session.warn(_OF_DAEMON)
    return [
        f"Gatepost takes this session for one of {desk.rules.agent!r}, because GATEPOST_AGENT says so in the"
        " environment of a background service that all terminals share."
        " `gatepost hooks install --agent NAME` says it for sure.",
    ]


def _noted(answer: Answer, notes: Iterable[str]) -> Answer:
    return replace(answer, stderr=answer.stderr + "".join(f"gatepost: {note}\n" for note in notes))


def _spool(path: str) -> "Spool":
    from gatepost.adapters.spool import FileSpool

    return FileSpool(path)


def _waiting(spool: str, session: str) -> bool:
    """Whether a drain would find anything in the spool; so that its code need not be imported to find nothing."""
    path = spool.replace("<session>", filename(session))
    for each in (path, f"{path}.draining"):
        with suppress(OSError):
            if os.stat(each).st_size:  # noqa: PTH116 (a string as it is)
                return True
    return False


def _unproved(spool: str, session: str, home: Path) -> Sequence[PrintedBatch]:
    """Return what hooks have printed and nobody has settled; mostly there is no such file."""
    try:
        return unproved.read(houses.read(f"{spool.replace('<session>', filename(session))}.unproved", like=str(home)))
    except OSError:
        return ()


def _has_items(known: Known, agent: str, now: Instant) -> bool:
    """Return True if a SQLite store has anything for an agent to read; one that is not there has nothing."""
    if known.file is None or not os.path.exists(known.file):  # noqa: PTH110 (a string as it is)
        return False
    from gatepost.adapters.stores.glance import has_items

    return has_items(known.file, agent, now=now, busy=BUSY)


def _key(home: Path, environ: Mapping[str, str]) -> _Key:
    """What changes when anything changes that `_found` goes by; first, the environment."""
    given = sorted(
        f"{name}={value}"
        for name, value in environ.items()
        if name.startswith("GATEPOST_") and name not in _INDIFFERENT
    )
    if given:  # it may name a path
        with suppress(FileNotFoundError):
            given.append(os.getcwd())  # noqa: PTH109 (a string will do)
    files = (f"{home}/gatepost.toml", f"{home.parent}/gatepost.toml", f"{__file__[:-8]}settings/declared.py")
    # not what was given itself: there may be secrets in it
    environment = zlib.crc32("\0".join(given).encode(errors="surrogatepass"))
    return [environment, sys.version, *map(_stamp, files), *map(_stamp, sys.path[1:])]


def _stamp(path: str) -> list[Any]:
    try:
        found = os.stat(path)  # noqa: PTH116 (a string as it is)
    except OSError:
        return [path, 0]
    return [path, found.st_mtime_ns, found.st_size, found.st_ino]


def _found(home: Path, environ: Mapping[str, str]) -> Known:
    from dataclasses import asdict

    from gatepost import app, settings

    given = {name: value for name, value in environ.items() if name != _AGENT}
    found = settings.load({**given, "GATEPOST_HOME": str(home)}).settings
    return Known(
        rules=Rules(
            agent=found.agent,
            stop_decision=found.stop_decision.enabled,
            wait=found.stop_decision.wait,
            format=found.hooks.format,
            remember=found.inbox.remember,
            proof=found.hooks.proof,
        ),
        limits=asdict(found.rules()),
        store=settings.masked(found.store),
        file=str(app.sqlite_path(found.store)) if found.store.startswith("sqlite:") else None,
        spool=found.spool.path,
    )


def _document(known: Known) -> dict[str, Any]:
    handlers = [
        one._asdict() | {"events": sorted(one.events) if one.events is not None else None} for one in known.handlers
    ]
    return known._asdict() | {"rules": known.rules._asdict(), "handlers": handlers}


def _read(document: dict[str, Any]) -> Known:
    rules, handlers = Rules(**document.pop("rules")), document.pop("handlers")
    return Known(
        rules=rules,
        handlers=tuple(
            Listed(**{**one, "events": frozenset(one["events"]) if one["events"] is not None else None})
            for one in handlers
        ),
        **document,
    )
