"""`gatepost doctor`: check the home, the settings and the store, and say how to fix what is wrong."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from click.exceptions import Exit

from gatepost import app, settings
from gatepost.actions import maintenance
from gatepost.cli import output
from gatepost.cli.command import build_verb
from gatepost.cli.parameters import Json
from gatepost.errors import GatepostError
from gatepost.ports import Store
from gatepost.settings import Configuration


@dataclass(frozen=True, slots=True)
class Finding:
    check: str
    ok: bool
    detail: str
    hint: str | None = None


def doctor(json: Json = False) -> None:
    """
    Check the home, the settings and the store: schema, disk, integrity, accounts, orphans.

    Prints a line for each check, and exits with 1 if something is wrong.

    Example:
      gatepost doctor
    """
    findings = list(_check_all())
    if json:
        output.document([asdict(finding) for finding in findings])
    else:
        for finding in findings:
            output.line_out(f"{'ok' if finding.ok else 'wrong':<5}  {finding.check:<9}  {finding.detail}")
            if finding.hint and not finding.ok:
                output.line_out(f"{'':<5}  {'':<9}  hint: {finding.hint}")
    if not all(finding.ok for finding in findings):
        raise Exit(1)


def _check_all() -> Iterator[Finding]:
    """Return the findings, up to the first fault that all later checks depend on."""
    try:
        configuration = settings.load()
    except GatepostError as error:
        yield _build_fault("settings", error)
        return
    yield Finding("home", True, f"{configuration.home} ({configuration.home_origin})")
    yield Finding("settings", True, str(configuration.file) if configuration.file else "no file: the defaults apply")
    yield from _check_store(configuration)


def _check_store(configuration: Configuration) -> Iterator[Finding]:
    url = settings.mask_passwords(configuration.settings.store)
    reports: list[str] = []
    try:
        with app.prepare_store(configuration, report=reports.append) as store:
            yield Finding("store", True, url + (" (created just now)" if reports else ""))
            yield Finding("schema", True, f"version {store.migrate()[1]}")
            yield _check_disk(store)
            yield from _check_contents(store)
    except GatepostError as error:
        yield _build_fault("store", error)


def _check_disk(store: Store) -> Finding:
    is_durable, detail = store.check_durability()
    hint = "after a crash of the machine, answered pushes may be lost or damaged: set fsync and full_page_writes to on"
    return Finding("disk", is_durable, detail, hint)


def _check_contents(store: Store) -> Iterator[Finding]:
    broken = store.check()
    yield Finding(
        "integrity",
        not broken,
        "; ".join(broken[:3]) or "the database is intact",
        "restore a backup, or save what can be read with `gatepost export`: docs/howto/damaged-store.md",
    )
    unbalanced, inboxes, accepted = store.read_sync(maintenance.find_unbalanced)
    detail = "; ".join(
        f"{account.name!r} accepted {account.accepted} but has {account.total}" for account in unbalanced[:3]
    )
    yield Finding(
        "accounts",
        not unbalanced,
        detail or f"{output.count(accepted, 'item')} accepted by {output.count(inboxes, 'inbox')}, all accounted for",
        "this should not happen: keep a copy of the store and report it",
    )
    orphans = store.read_sync(maintenance.find_orphans)
    yield Finding(
        "orphans",
        not orphans,
        "; ".join(orphans) or "none",
        "this should not happen: keep a copy of the store and report it",
    )


def _build_fault(check: str, error: GatepostError) -> Finding:
    return Finding(check, False, settings.mask_passwords(error.message), error.hint)


commands = [build_verb("doctor", doctor, "Check the home, the settings and the store.")]
