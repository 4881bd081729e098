"""What runs have used, added up, and the residents that have a budget."""

from collections.abc import Collection
from typing import Final

from gatepost.core.ports import Reader
from gatepost.core.times import Instant
from gatepost.inbox.event import EventType
from gatepost.residents.agent_config import Resident
from gatepost.residents.agent_rows import RESIDENT
from gatepost.residents.runs.rows import RUN, find_first_since
from gatepost.residents.runs.run import Run, RunStatus
from gatepost.residents.usage.usage import PERIODS, UsageDimension, UsageGroup
from gatepost.stores.row_mapping import Mapper, fetch_number

_GROUP: Final = Mapper(UsageGroup)


def sum_groups(
    tx: Reader,
    *,
    agent: int | None,
    since: Instant,
    until: Instant,
    by: Collection[UsageDimension],
    offset: int,
    limit: int,
) -> list[UsageGroup]:
    """Return the usage of runs that started in a time, the earliest groups first, then those with the most tokens."""
    return _GROUP.fetch_page(
        tx,
        "residents/usage/sum_groups",
        by_agent=UsageDimension.AGENT in by,
        by_model=UsageDimension.MODEL in by,
        by_cause=UsageDimension.CAUSE in by,
        period=min((PERIODS[dimension] for dimension in by if dimension in PERIODS), default=0),
        first=find_first_since(tx, since),
        last=find_first_since(tx, until),
        agent=agent,
        since=since,
        until=until,
        now=tx.now,
        offset=offset,
        limit=limit,
    )


def list_most_expensive(
    tx: Reader,
    *,
    agent: int | None,
    since: Instant,
    until: Instant,
    model: str | None,
    cause: EventType | None,
    status: RunStatus | None,
    is_stopped: bool,
    after: tuple[int, int] | None,
    limit: int,
) -> list[Run]:
    """Return the runs with the most tokens first; `after` is the tokens and the number of the last run seen."""
    after_tokens, after_number = after if after is not None else (None, 0)
    return RUN.fetch_page(
        tx,
        "residents/usage/list_most_expensive",
        first=find_first_since(tx, since),
        last=find_first_since(tx, until),
        agent=agent,
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


def list_budgeted(tx: Reader, *, agent: int | None, after: int, limit: int) -> list[Resident]:
    """Return live residents that may have a budget, in the order of registration."""
    return RESIDENT.fetch_all(tx, "residents/usage/list_budgeted", agent=agent, after=after, limit=limit)


def count_budget_stops(tx: Reader, agent: int, since: Instant) -> int:
    """Count the runs of an agent that started since then and that a budget ended."""
    return fetch_number(tx, "residents/usage/count_budget_stops", agent=agent, first=find_first_since(tx, since))
