"""`gatepost doctor`: what it checks of a home, and the fix that it names for each fault."""

import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Final

from click.exceptions import Exit

from gatepost import settings
from gatepost.cli import output
from gatepost.cli.command import build_verb
from gatepost.cli.parameters import JsonFlag
from gatepost.core.dry_run import dry_run_sync
from gatepost.core.ports import Store
from gatepost.errors import GatepostError, Unavailable
from gatepost.inbox import account_actions, event_rendering as render
from gatepost.settings import FILE, Configuration, gateway_files
from gatepost.settings.gateway_files import Exposure

_DISK_HINT: Final = (
    "after a crash of the machine, answered pushes may be lost or damaged: set fsync and full_page_writes to on"
)
_REPORT_HINT: Final = "this should not happen: keep a copy of the store and report it"
_NOTIFY_HINT: Final = (
    "register them with `gatepost agent add NAME` or `gatepost person add NAME`, or change work.notify"
)


@dataclass(frozen=True, slots=True)
class Finding:
    check: str
    ok: bool
    detail: str
    hint: str | None = None


def doctor(json: JsonFlag = False) -> None:
    """
    Check the home, the settings, the administrator's key, what transcribes voice messages, the store (schema, disk,
    room, integrity, accounts, orphans), the rules of work.notify and the triggers of gatepost.toml.

    Prints a line for each check, and exits with 1 if something is wrong.

    Example:
      gatepost doctor
    """
    findings = list(_check_all())
    if json:
        output.document([asdict(finding) for finding in findings])
    else:
        for finding in findings:
            detail = render.escape_invisible(finding.detail)
            output.line_out(f"{'ok' if finding.ok else 'wrong':<5}  {finding.check:<9}  {detail}")
            if finding.hint and not finding.ok:
                output.line_out(f"{'':<5}  {'':<9}  hint: {render.escape_invisible(finding.hint)}")
    if not all(finding.ok for finding in findings):
        raise Exit(1)


def _check_all() -> Iterator[Finding]:
    """Return the findings, up to the first fault that all later checks depend on."""
    try:
        configuration = settings.load()
    except GatepostError as error:
        yield _build_fault("settings", error)
        return
    yield from _check_home(configuration)
    yield from _check_speech(configuration)
    yield from _check_store(configuration)


def _check_home(configuration: Configuration) -> Iterator[Finding]:
    home = configuration.home
    if home.exists() and not home.is_dir():
        yield Finding("home", False, f"{home} is not a folder", "remove it, or name another home in GATEPOST_HOME")
        return
    exposures = {exposure.path: exposure for exposure in gateway_files.find_exposures(home)}
    yield _check_exposure("home", f"{home} ({configuration.home_origin})", exposures.get(home))
    yield Finding("settings", True, str(configuration.file) if configuration.file else "no file: the defaults apply")
    key = home / gateway_files.ADMIN_KEY
    if not os.path.lexists(key):
        yield Finding("key", True, "no file yet: `gatepost up` makes one")
        return
    try:
        gateway_files.read_admin_key(home)
    except GatepostError as error:
        yield _build_fault("key", error)
    else:
        yield _check_exposure("key", str(key), exposures.get(key))


def _check_exposure(check: str, detail: str, exposure: Exposure | None) -> Finding:
    if exposure is None:
        return Finding(check, True, detail)
    return Finding(check, False, f"{detail}: {exposure.problem}", exposure.fix)


def _check_speech(configuration: Configuration) -> Iterator[Finding]:
    from gatepost import app

    speech = configuration.settings.speech
    if speech.url is None:
        return
    try:
        app.build_transcriber(configuration, os.environ)
    except GatepostError as error:
        yield _build_fault("speech", error)
        return
    has_key = speech.url == "local:" or speech.key_variable in os.environ
    detail = str(configuration.values["speech.url"])
    yield Finding("speech", True, detail if has_key else f"{detail}, without a key: {speech.key_variable} is not set")


def _check_store(configuration: Configuration) -> Iterator[Finding]:
    from gatepost import app

    url = settings.mask_passwords(configuration.settings.store.url)
    reports: list[str] = []
    try:
        with app.prepare_store(configuration, report=reports.append) as store:
            yield Finding("store", True, url + (" (created just now)" if reports else ""))
            yield Finding("schema", True, f"version {store.migrate()[1]}")
            is_durable, detail = store.check_durability()
            yield Finding("disk", is_durable, detail, _DISK_HINT)
            yield _check_room(store, configuration.settings.store.reserve)
            yield from _check_contents(store)
            yield from _check_triggers(configuration, store)
            yield from _check_providers(store)
    except GatepostError as error:
        yield _build_fault("store", error)


def _check_room(store: Store, reserve: int) -> Finding:
    try:
        store.try_to_write()
    except Unavailable as error:
        return _build_fault("room", error)
    free = store.measure_free_space()
    limit = f"nothing new is stored below {reserve >> 20} MiB (store.reserve)"
    return Finding("room", True, "the database can grow" if free is None else f"{free >> 20} MiB are free; {limit}")


def _check_contents(store: Store) -> Iterator[Finding]:
    from gatepost.mail import work_actions as work

    broken = store.check()
    yield Finding(
        "integrity",
        not broken,
        "; ".join(broken[:3]) or "the database is intact",
        "restore a backup, or save what can be read with `gatepost export`: docs/howto/damaged-store.md",
    )
    unbalanced, inboxes, accepted = store.read_sync(account_actions.find_unbalanced)
    detail = "; ".join(
        f"{account.name!r} accepted {account.accepted} but has {account.total}" for account in unbalanced[:3]
    )
    yield Finding(
        "accounts",
        not unbalanced,
        detail or f"{output.count(accepted, 'item')} accepted by {output.count(inboxes, 'inbox')}, all accounted for",
        _REPORT_HINT,
    )
    orphans = store.read_sync(account_actions.find_orphans)
    yield Finding("orphans", not orphans, "; ".join(orphans) or "none", _REPORT_HINT)
    unknown_names = store.read_sync(work.find_unknown_names)
    detail = ", ".join(f"{target!r} (for {pattern})" for pattern, target in unknown_names)
    yield Finding(
        "notify",
        not unknown_names,
        f"no such entity: {detail}" if detail else "every rule names entities",
        _NOTIFY_HINT,
    )


def _check_triggers(configuration: Configuration, store: Store) -> Iterator[Finding]:
    """Return what is wrong with the triggers of the settings file, if it has any."""
    from gatepost import app
    from gatepost.channels.triggers import gatepost_toml_actions as file_triggers

    triggers = app.build_file_triggers(configuration)
    problems: list[tuple[str, GatepostError]] = []
    for trigger, secret in triggers:
        try:
            dry_run_sync(store, file_triggers.apply, trigger, secret)
        except Unavailable:
            raise
        except GatepostError as error:
            problems.append((trigger.name, error))
    for name, problem in problems:
        yield Finding("triggers", False, f"{name} in {FILE} is not used: {problem.message}", problem.hint)
    if triggers and not problems:
        yield Finding("triggers", True, f"{output.count(len(triggers), 'trigger')} in {FILE}")


def _check_providers(store: Store) -> Iterator[Finding]:
    """Return what is wrong with the providers of other packages, if there are any or a trigger needs one."""
    from gatepost.channels import provider_plugins as plugins
    from gatepost.channels.triggers import actions as triggers

    loaded = plugins.load_providers()
    rows = store.read_sync(triggers.page, limit=10_000)
    problems = dict(loaded.problems)
    for row in rows:
        if row.active and (problem := plugins.find_problem(row.provider, loaded)) is not None:
            problems[row.provider] = f"{problem}, which the trigger {row.name!r} needs"
    for problem in problems.values():
        yield Finding("providers", False, problem, "install its package where the gateway runs, or disable the trigger")
    if loaded.providers and not problems:
        yield Finding("providers", True, ", ".join(loaded.providers))


def _build_fault(check: str, error: GatepostError) -> Finding:
    return Finding(check, False, settings.mask_passwords(error.message), error.hint)


commands = [build_verb("doctor", doctor, "Check the home, the settings and the store.")]
