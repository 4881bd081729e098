"""
The entry of hooks: receives the hooks of guests, with a gateway or without one.

A guest waits while its hook starts, and hooks start thousands of times with nothing to do. So the settings and the
installed handlers are cached in a file of the home. As long as nothing has changed that the cache was built from
(settings files, variables, installed packages, this code), a hook reads the cache and imports nothing else.
"""

import os
import sys
import zlib
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gatepost import paths
from gatepost.core import light_json
from gatepost.core.times import Instant
from gatepost.errors import GatepostError, Unavailable
from gatepost.guests.hooks import dialects, handler_chain as chain
from gatepost.guests.hooks.handler_chain import Handler, LazyHandler, Wait
from gatepost.guests.hooks.hook_context import HookContext, HookOptions
from gatepost.guests.hooks.hook_events import HookEvent, HookOutput, do_nothing
from gatepost.guests.hooks.repeated_event import HookProcess, begin_answer, end_answer
from gatepost.guests.hooks.session_state import Session
from gatepost.guests.session import PrintedBatch, decode_batches, encode_filename
from gatepost.paths import StrPath
from gatepost.stores.clock import SystemClock

if TYPE_CHECKING:
    from gatepost.core.ports import Store
    from gatepost.guests.ports import Spool

#: the folder of the home with the cache, a file for each environment, and the most files in it
CACHE_FOLDER: Final = ".hooks"
_MAX_CACHED: Final = 20
#: seconds that a hook waits for a store that another process writes to
BUSY_TIMEOUT: Final = 1.0
#: digits of an integer; a longer one stays text, because Python refuses to parse it and no handler needs its value
_MAX_DIGITS: Final = 1_000
#: variables that do not change the cached settings
_AGENT_VARIABLE: Final = "GATEPOST_AGENT"
_IGNORED_VARIABLES: Final = {"GATEPOST_DEBUG", "GATEPOST_NIGHTLY", "GATEPOST_HOME", _AGENT_VARIABLE}

_CacheKey = list[Any]


class HookCall(NamedTuple):
    """A hook as its host has called it."""

    event: str
    host: str
    #: what the host wrote to stdin
    stdin: str
    environ: Mapping[str, str]
    cwd: str
    #: whether the name of the agent comes from the environment of a background service
    is_from_service: bool = False
    #: the process of the hook; None if it is not known
    process: HookProcess | None = None
    #: at the start of a session, the process of the host (`host_process.find_program`)
    program: str | None = None


class HookResponse(NamedTuple):
    """
    What to print. Afterwards call `on_printed`, or `on_failed` if it could not be printed; both do nothing unless
    `needs_confirmation`.
    """

    output: HookOutput
    on_printed: Callable[[], None] = do_nothing
    on_failed: Callable[[], None] = do_nothing
    #: the session that called
    session: str = ""

    @property
    def needs_confirmation(self) -> bool:
        return self.on_printed is not do_nothing


class HookConfig(NamedTuple):
    """The settings and installed handlers that hooks of this home use."""

    rules: HookOptions
    policy: Mapping[str, Any]
    #: the URL of the store without its password, and its file if it is SQLite
    store: str
    file: str | None
    #: the path of spools, with `<session>` in it
    spool: str
    handlers: tuple[LazyHandler, ...] = ()


class HookEntry:
    """Receives the hooks of one home."""

    def __init__(
        self, home: StrPath, *, store: "Store | None" = None, handlers: Sequence[Handler | LazyHandler] | None = None
    ) -> None:
        """
        A gateway passes its `store` and its `handlers`. Without them the configured store is opened if it is SQLite,
        and the settings and handlers are cached for the next hook.
        """
        self._home = os.fspath(home).rstrip("/") or "/"
        self._store = store
        self._handlers = handlers
        #: by the hash of the environment, with the key it was built from
        self._config_cache: dict[int, tuple[_CacheKey, HookConfig]] = {}
        self._opened_store: Store | None = None

    def close(self) -> None:
        """Close the store, if it was opened here."""
        if self._opened_store is not None:
            self._opened_store.close()
            self._opened_store = None

    def receive(self, hook: HookCall) -> Generator[Wait, None, HookResponse]:
        """Handle a hook: yield what the caller has to wait for, and return what it has to print."""
        notes: list[str] = []
        hook_config = self._load_config_or_note(hook, notes)
        parse_notes: list[str] = []
        event = dialects.parse(hook.host, hook.event, parse_payload(hook.stdin, parse_notes))
        notes += parse_notes
        if event.is_duplicate:
            return HookResponse(output=HookOutput())
        if not event.session:
            notes.append("the host has named no session")
            reason = next(iter(parse_notes), notes[-1])
            return HookResponse(output=_add_notes(self._render_without_session(event, reason, notes), notes))
        event = event._replace(cwd=event.cwd or hook.cwd)
        ctx = self.build_context(event.session, hook_config)
        if hook_config is None:
            ctx.settings_problem = f"Gatepost does nothing in this session, because of its settings: {notes[0]}"
        answered_hook = None
        if hook.process is not None:
            with suppress(OSError):  # then nobody can tell, and it is answered
                answered_hook = begin_answer(
                    ctx.session, event, agent=ctx.options.agent, stdin=hook.stdin, process=hook.process
                )
                if answered_hook is None:
                    return HookResponse(output=HookOutput())
        ctx.notes += notes
        ctx.program = hook.program
        ctx.has_other_home = lambda: _is_elsewhere(self._home, hook.environ, event.cwd)
        extra_handlers = self._handlers if self._handlers is not None else hook_config.handlers if hook_config else ()
        verdict = yield from chain.handle_event(ctx, event, (*chain.BUILT_IN, *extra_handlers))
        if hook.is_from_service:
            from gatepost.guests.hooks.background_service import build_warnings

            verdict = verdict.add_warnings(*build_warnings(ctx))
        try:
            output = dialects.render(event, verdict, wrap=ctx.options.format != "plain")
        except BaseException:
            verdict.unprinted()
            raise
        if answered_hook is not None:
            with suppress(OSError):
                end_answer(ctx.session, answered_hook)
        return HookResponse(
            output=_add_notes(output, ctx.notes),
            on_printed=verdict.printed,
            on_failed=verdict.unprinted,
            session=event.session,
        )

    def _render_without_session(self, event: HookEvent, reason: str, notes: list[str]) -> HookOutput:
        """Return the output for a hook without a session: gates that hold in any case still hold."""
        from gatepost.guests.hooks import session_gates as gates

        try:
            return dialects.render(event, gates.judge_unknown_session(self._home, event.name, reason, notes.append))
        except Unavailable as error:
            notes.append(error.message)
            return HookOutput()

    def load_config(self, environ: Mapping[str, str], report: Callable[[str], None]) -> HookConfig:
        """Return the settings and installed handlers; raise GatepostError if the settings are not valid."""
        key = _build_cache_key(self._home, environ)
        cached_key, hook_config = self._config_cache.get(key[0], (None, None))
        if hook_config is None or cached_key != key:
            hook_config = self._read_cache(key) or self._load_uncached(key, environ, report)
            if len(self._config_cache) >= _MAX_CACHED:
                self._config_cache.clear()
            self._config_cache[key[0]] = key, hook_config
        # The agent is not cached, because every agent on this machine has its own name.
        return hook_config._replace(
            rules=hook_config.rules._replace(agent=environ.get(_AGENT_VARIABLE) or hook_config.rules.agent)
        )

    def _read_cache(self, key: _CacheKey) -> HookConfig | None:
        if self._handlers is not None:
            return None
        with suppress(OSError, ValueError, TypeError):
            cached_key, config_fields = light_json.parse(paths.read_file(self._get_cache_path(key)).decode())
            rules, policy, store, file, spool, handlers = config_fields
            if cached_key == key:
                lazy_handlers = tuple(LazyHandler(*handler) for handler in handlers)
                return HookConfig(HookOptions(*rules), policy, store, file, spool, lazy_handlers)
        return None

    def _load_uncached(self, key: _CacheKey, environ: Mapping[str, str], report: Callable[[str], None]) -> HookConfig:
        hook_config = _load_hook_config(self._home, environ)
        if self._handlers is None:
            hook_config = hook_config._replace(handlers=tuple(chain.list_user_handlers(report)))
            with suppress(OSError):
                self._write_cache(key, hook_config)
        return hook_config

    def _write_cache(self, key: _CacheKey, hook_config: HookConfig) -> None:
        import json  # so do the settings that it was made from

        path = self._get_cache_path(key)
        folder = os.path.dirname(path)
        paths.make_private_folder(folder)
        paths.write_atomically(path, json.dumps([key, hook_config]))
        files = [os.path.join(folder, name) for name in os.listdir(folder)]
        for old_file in sorted(files, key=os.path.getmtime)[:-_MAX_CACHED]:
            os.unlink(old_file)

    def _get_cache_path(self, key: _CacheKey) -> str:
        return f"{self._home}/{CACHE_FOLDER}/{key[0]}.json"

    def _load_config_or_note(self, hook: HookCall, notes: list[str]) -> HookConfig | None:
        try:
            return self.load_config(hook.environ, notes.append)
        except GatepostError as error:
            notes.append(error.message_with_hint)
        except OSError as error:  # a path is relative to the working directory, and that is gone
            notes.append(f"what is set cannot be read: {error}")
        return None

    def build_context(self, session: str, hook_config: HookConfig | None) -> HookContext:
        """Return the context of handlers; without a configuration it has only the files of the session."""
        if hook_config is None:
            return HookContext(
                home=self._home, options=HookOptions(), clock=SystemClock(), session=Session(self._home, session)
            )
        spool_path = hook_config.spool.replace("<session>", encode_filename(session))
        return HookContext(
            home=self._home,
            options=hook_config.rules,
            clock=SystemClock(),
            session=Session(self._home, session),
            open_store=lambda: self._store or self._open_sqlite_store(hook_config),
            open_spool=lambda: _open_spool(hook_config.spool),
            has_lines=lambda: _has_spooled_lines(spool_path),
            read_unproved=lambda: _read_unproved(spool_path, self._home),
            peek_items=None if self._store else lambda agent, now: _has_items(hook_config, agent, now),
        )

    def _open_sqlite_store(self, hook_config: HookConfig) -> "Store":
        """Return the store; raise Unavailable unless it is a SQLite file of this version: hooks do not migrate."""
        if hook_config.file is None:
            raise Unavailable(
                f"without a gateway a hook reaches only a SQLite store, and {hook_config.store!r} is not one"
            )
        if not os.path.exists(hook_config.file):
            raise Unavailable(f"the store {hook_config.store!r} is not there")
        from gatepost.core.policy import Policy
        from gatepost.stores import statements
        from gatepost.stores.sqlite import SqliteStore

        store = SqliteStore(
            hook_config.file, busy_timeout=BUSY_TIMEOUT, clock=SystemClock(), policy=Policy(**hook_config.policy)
        )
        self._opened_store = store
        version, oldest = store.read_sync(statements.read_schema_version)
        newest = statements.find_newest_version("sqlite")
        if not oldest <= newest <= version:
            raise Unavailable(f"the store has schema {version}, and this code is for {newest}")
        return store


def parse_payload(text: str, notes: list[str]) -> object:
    """Return the JSON of the host; if it cannot be parsed, return None and add a note."""
    try:
        return light_json.parse(text.removeprefix("\ufeff"), parse_int=_parse_int)
    except ValueError:
        notes.append("what the host has written to stdin is not JSON")
    except RecursionError:
        notes.append("what the host has written to stdin is nested too deeply")
    return None


def _parse_int(digits: str) -> int | str:
    return int(digits) if len(digits) < _MAX_DIGITS else digits


def _is_elsewhere(home: str, environ: Mapping[str, str], cwd: str) -> bool:
    """Return True if a command that runs in this folder finds another home."""
    try:
        other_home, _ = paths.find_home(environ, cwd or None)
    except (GatepostError, OSError):
        return True
    return not os.path.samefile(other_home, home) if os.path.exists(other_home) else True


def _add_notes(output: HookOutput, notes: Iterable[str]) -> HookOutput:
    return output._replace(stderr=output.stderr + "".join(f"gatepost: {note}\n" for note in notes))


def _open_spool(path: str) -> "Spool":
    from gatepost.guests.spool_files import FileSpool

    return FileSpool(path)


def _has_spooled_lines(path: str) -> bool:
    """Return True if the spool has lines; if it has none, the code of the drain need not be imported."""
    for file in (path, f"{path}.draining"):
        with suppress(OSError):
            if os.stat(file).st_size:
                return True
    return False


def _read_unproved(path: str, home: str) -> Sequence[PrintedBatch]:
    """Return the printed and unsettled batches of a session; mostly there is no such file."""
    try:
        return decode_batches(paths.read_trusted_file(f"{path}.unproved", reference=home))
    except OSError:
        return ()


def _has_items(hook_config: HookConfig, agent: str, now: Instant) -> bool:
    """Return True if the SQLite store has items for an agent to read; a missing store has none."""
    if hook_config.file is None or not os.path.exists(hook_config.file):
        return False
    from gatepost.stores.sqlite_probe import has_items

    return has_items(hook_config.file, agent, now=now, busy_timeout=BUSY_TIMEOUT)


def _build_cache_key(home: str, environ: Mapping[str, str]) -> _CacheKey:
    """
    Return a key that changes when anything changes that `_load_hook_config` reads. Its first element is the hash of the
    environment.
    """
    variables = sorted(
        f"{name}={value}"
        for name, value in environ.items()
        if name.startswith("GATEPOST_") and name not in _IGNORED_VARIABLES
    )
    if variables:  # one of them may be a relative path
        with suppress(FileNotFoundError):
            variables.append(os.getcwd())
    package = __file__.removesuffix("guests/hook_entry.py")
    defaults = f"{package}settings/fields_and_defaults.py"  # a release may have others
    files = (f"{home}/gatepost.toml", f"{os.path.dirname(home)}/gatepost.toml", defaults)
    # a hash, because the variables may contain secrets
    environment_hash = zlib.crc32("\0".join(variables).encode(errors="surrogatepass"))
    return [environment_hash, sys.version, *map(_build_file_stamp, files), *map(_build_file_stamp, sys.path[1:])]


def _build_file_stamp(path: str) -> list[Any]:
    try:
        status = os.stat(path)
    except OSError:
        return [path, 0]
    return [path, status.st_mtime_ns, status.st_size, status.st_ino]


def _load_hook_config(home: str, environ: Mapping[str, str]) -> HookConfig:
    from gatepost import app, settings

    variables = {name: value for name, value in environ.items() if name != _AGENT_VARIABLE}
    loaded_settings = settings.load({**variables, "GATEPOST_HOME": home}).settings
    return HookConfig(
        rules=HookOptions(
            agent=loaded_settings.agent,
            stop_decision=loaded_settings.stop_decision.enabled,
            decision_wait=loaded_settings.stop_decision.wait,
            format=loaded_settings.hooks.format,
            remember_for=loaded_settings.inbox.remember,
            proof_timeout=loaded_settings.hooks.proof,
        ),
        policy=loaded_settings.build_policy()._asdict(),
        store=settings.mask_passwords(loaded_settings.store.url),
        file=str(app.parse_sqlite_path(loaded_settings.store.url))
        if loaded_settings.store.url.startswith("sqlite:")
        else None,
        spool=loaded_settings.spool.path,
    )
