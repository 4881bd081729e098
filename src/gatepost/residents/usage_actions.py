"""What runs have used, and which were the most expensive."""

from collections.abc import Collection
from typing import Final

from gatepost.core.ports import Reader
from gatepost.core.times import Instant
from gatepost.directory import entity_actions as directory
from gatepost.errors import Invalid
from gatepost.inbox.event import EventType
from gatepost.residents.runs import rows as runs
from gatepost.residents.runs.run import Run, RunStatus
from gatepost.residents.usage_api import PERIODS, UsageDimension, UsageGroup
from gatepost.stores.row_mapping import Mapper

_GROUP: Final = Mapper(UsageGroup)


def list_page(
    tx: Reader,
    *,
    agent: str | None = None,
    since: Instant,
    until: Instant,
    by: Collection[UsageDimension],
    after: int = 0,
    limit: int = 100,
) -> list[UsageGroup]:
    """
    Return what the runs of one agent, or of all, have used that started between two times. Groups come in the order of
    time, if they are days or hours, and then by their tokens; `after` is the number of groups seen.
    """
    if {UsageDimension.DAY, UsageDimension.HOUR} <= set(by):
        raise Invalid("by: day and hour are both times", hint="give one of them")
    return _GROUP.fetch_page(
        tx,
        "residents/usage/sum_groups",
        by_agent=UsageDimension.AGENT in by,
        by_model=UsageDimension.MODEL in by,
        by_cause=UsageDimension.CAUSE in by,
        period=min((PERIODS[dimension] for dimension in by if dimension in PERIODS), default=0),
        agent=directory.find_number(tx, agent),
        first=runs.find_first_since(tx, since),
        last=runs.find_first_since(tx, until),
        since=since,
        until=until,
        now=tx.now,
        offset=after,
        limit=limit,
    )


def sum_all(tx: Reader, *, agent: str | None = None, since: Instant, until: Instant) -> UsageGroup:
    """Return what all these runs have used together."""
    groups = list_page(tx, agent=agent, since=since, until=until, by=(), limit=1)
    return groups[0] if groups else UsageGroup()


def list_most_expensive(
    tx: Reader,
    *,
    agent: str | None = None,
    since: Instant,
    until: Instant,
    model: str | None = None,
    cause: EventType | None = None,
    status: RunStatus | None = None,
    is_stopped: bool = False,
    after: tuple[int, int] | None = None,
    limit: int = 100,
) -> list[Run]:
    """
    Return the runs with the most tokens first; with `is_stopped`, those that a budget ended. `after` is the tokens and
    the number of the last run seen.
    """
    after_tokens, after_number = after if after is not None else (None, 0)
    return runs.RUN.fetch_page(
        tx,
        "residents/usage/list_most_expensive",
        agent=directory.find_number(tx, agent),
        first=runs.find_first_since(tx, since),
        last=runs.find_first_since(tx, until),
        since=since,
        until=until,
        model=model,
        cause=cause,
        status=status,
        stopped=is_stopped,
        after_tokens=after_tokens,
        after_number=after_number,
        limit=limit,
    )
