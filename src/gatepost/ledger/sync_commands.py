"""
`gatepost ledger sync`.

The local ledger makes everything at once. On a public one each account, topic and profile takes seconds and costs
money, so a sync writes jobs, which a gateway does; the command waits for it.
"""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from gatepost import app, settings
from gatepost.cli import output
from gatepost.cli.gateway_or_store import CommandConnection, connect, poll
from gatepost.cli.parameters import JsonFlag, argument, flag, option
from gatepost.core.address import check_entity_address
from gatepost.directory.entity_api import ShowEntity
from gatepost.errors import Invalid, NotFound, Refused
from gatepost.ledger.topic import LedgerId
from gatepost.ledger.topic_api import LedgerSyncStateView, LedgerSyncView, ShowLedgerSync, SyncLedger, SyncPart
from gatepost.ledger.topic_commands import ledger
from gatepost.settings import Configuration

if TYPE_CHECKING:
    from gatepost.ledger.public_ledger import AccountInfo

_COUNTS: Final = ("checked", "accounts", "topics", "profiles", "jobs")


@ledger.command("sync")
def sync(
    name: Annotated[
        str | None, argument("NAME", "only this agent, person or service", parse=check_entity_address)
    ] = None,
    account: Annotated[
        LedgerId | None,
        option("--account", "0.0.N", "an account that exists, for NAME; give --key-file too", parse=LedgerId.parse),
    ] = None,
    key_file: Annotated[
        Path | None, option("--key-file", "FILE", "the file with the private key of this account", parse=Path)
    ] = None,
    no_wait: Annotated[bool, flag("--no-wait", "on a public ledger, do not wait for the gateway")] = False,
    json: JsonFlag = False,
) -> None:
    """
    Make the accounts, topics and profiles that are missing. A profile that has changed is published again.

    On a public ledger a gateway makes them, and this waits until it has done so. With --account an account that exists
    becomes that of NAME, and a copy of its private key is stored in the home.

    Examples:
      gatepost ledger sync
      gatepost ledger sync analyst --account 0.0.7654321 --key-file analyst.key
    """
    if (account is None) != (key_file is None):
        raise Invalid("--account and --key-file must be given together", hint="the key proves whose account it is")
    if account is not None and name is None:
        raise Invalid("NAME is missing", hint="say whose account it is")
    configuration = settings.load()
    if account is not None and str(account) == configuration.settings.hedera.operator_id:
        raise Invalid(f"{account} is the account of the operator", hint="an agent needs an account of its own")
    totals: Counter[str] = Counter()
    progress = output.Progress()
    with connect(configuration) as connection:
        if account is not None and key_file is not None and name is not None:
            _add(totals, _take_account(connection, name, account, key_file))
        elif name is not None:
            _add(totals, connection.send(SyncLedger(name=name)))
        else:
            for part in SyncPart:
                _sync_part(connection, part, totals, progress)
        state = connection.send(ShowLedgerSync())
        is_alone = connection.store is not None
        if state.pending and not is_alone and not no_wait:
            state = _wait(connection, state.pending, progress)
    output.done(
        {**{count: totals[count] for count in _COUNTS}, "pending": state.pending},
        _describe(totals, is_done=not state.pending),
        "",
        json=json,
    )
    if state.pending and is_alone:
        output.talk(f"{_describe_jobs(state.pending)} done when a gateway runs: `gatepost up`")
    elif state.pending:
        output.talk(f"the gateway still has {output.count(state.pending, 'job')} to do")


def _sync_part(connection: CommandConnection, part: SyncPart, totals: Counter[str], progress: output.Progress) -> None:
    after: int | None = 0
    while after is not None:
        page = connection.send(SyncLedger(part=part, after=after))
        _add(totals, page)
        after = page.next
        progress.show(f"{totals['checked']} checked so far")


def _add(totals: Counter[str], page: LedgerSyncView) -> None:
    totals.update({count: getattr(page, count) for count in _COUNTS})


def _take_account(connection: CommandConnection, name: str, account: LedgerId, key_file: Path) -> LedgerSyncView:
    """Give an entity an account that exists, after a check that the key is the one of the account."""
    import asyncio  # few commands need it

    configuration = connection.configuration
    entity = connection.send(ShowEntity(name=name)).name
    info = asyncio.run(_read_account(configuration, account))
    if info is None:
        raise NotFound(f"there is no account {account} on {configuration.settings.ledger.url!r}")
    if info.public_key is None:
        raise Refused(f"the account {account} has no single key", hint="use an account with one key")
    if app.read_ledger_key(configuration, key_file) != info.public_key:
        raise Invalid(f"the key in {str(key_file)!r} is not that of the account {account}")
    with app.import_ledger_key(configuration, entity, key_file):
        return connection.send(SyncLedger(name=entity, account=str(account)))


async def _read_account(configuration: Configuration, account: LedgerId) -> "AccountInfo | None":
    """Return what the mirror node knows of an account."""
    ledger = app.build_ledger(configuration)
    if ledger is None:
        raise Refused("only a public ledger takes an account that exists", hint="leave --account and --key-file out")
    try:
        return await ledger.read_account(account)
    finally:
        await ledger.close()


def _wait(connection: CommandConnection, total: int, progress: output.Progress) -> LedgerSyncStateView:
    """Wait until all jobs are done. What keeps them is said, once."""
    errors: set[str | None] = {None}

    def is_over(state: LedgerSyncStateView) -> bool:
        if state.error not in errors:
            output.talk(f"it is tried again: {state.error}")
            errors.add(state.error)
        if state.pending:
            progress.show(f"{state.pending} of {output.count(max(total, state.pending), 'job')} left")
        return not state.pending

    return poll(connection, ShowLedgerSync(), is_over, timeout=None)


def _describe(totals: Counter[str], *, is_done: bool) -> str:
    if totals["jobs"]:
        return f"{output.count(totals['jobs'], 'job')} {'done' if is_done else 'written'}"
    counts = [output.count(totals[f"{noun}s"], noun) for noun in ("account", "topic", "profile") if totals[f"{noun}s"]]
    if not counts:
        return "nothing is missing"
    *others, last = counts
    return f"{', '.join(others)} and {last} made" if others else f"{last} made"


def _describe_jobs(count: int) -> str:
    return "1 job is" if count == 1 else f"{count} jobs are"
