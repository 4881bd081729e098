"""
Inboxes with many pending items: copies of one pushed event, made inside the database, because a million pushes take
minutes.

The copies differ in arrival, id, key and source. A `BacklogShape` sets their sources, because a claim shares its batch
between sources and has to find them.
"""

import time
from contextlib import closing
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from bench.support import fixtures
from bench.support.raw_databases import RawDatabase, open_raw, read_newest_row
from gatepost.client import LocalClient
from gatepost.core.ports import Store
from gatepost.inbox.event import Priority
from gatepost.inbox.item_api import AckClaim, BatchView, ClaimBatch
from gatepost.inbox.push import actions as push

#: whose inbox it is
READER: Final = fixtures.get_agent_name(0)
#: items of a claim
LIMIT: Final = 100
#: characters of a claim: more than that many items have
BUDGET: Final = 1_000_000

_CLAIM: Final = ClaimBatch(name=READER, owner="bench", limit=LIMIT, budget=BUDGET)


@dataclass(frozen=True, slots=True)
class BacklogShape:
    description: str
    #: the source of the item with this `number`, of a backlog of this `size`: in SQL that both databases read
    source: str
    #: its priority
    priority: str = f"{Priority.NORMAL:d}"


def spread_evenly(sources: int) -> BacklogShape:
    description = "1 source" if sources == 1 else f"{sources:,} sources in turn"
    return BacklogShape(description, f"'source-' || CAST(number % {sources} AS TEXT)")


#: one source stands before a thousand others, which are found only by stepping over it; these are less urgent, so that
#: they stay behind it however much is taken and made up for
FLOOD_SHAPE: Final = BacklogShape(
    "1 source before 1,000 less urgent ones",
    "CASE WHEN number <= {size} / 2 THEN 'flood' ELSE 'source-' || CAST(number % 1000 AS TEXT) END",
    f"CASE WHEN number <= {{size}} / 2 THEN {Priority.NORMAL:d} ELSE {Priority.LOW:d} END",
)


class Backlog:
    """A store whose reader always has the same number of items waiting."""

    def __init__(self, store: Store, url: str, size: int, shape: BacklogShape) -> None:
        self.client = LocalClient(store)
        self.url = url
        self.size = size
        #: of the last claim
        self.ack_seconds = 0.0
        with closing(open_raw(url)) as raw:
            fixtures.create_agents(store, agents=2)
            _fill(store, raw, size, shape)

    def claim(self) -> float:
        """Claim a batch; return the seconds it took. Then, untimed, ack it and push as many of the same kind."""
        start = time.perf_counter()
        batch = self.client.send(_CLAIM)
        seconds = time.perf_counter() - start
        self._replace_items(batch)
        return seconds

    def _replace_items(self, batch: BatchView) -> None:
        claim = batch.claim
        assert claim is not None
        assert len(batch.items) == LIMIT
        start = time.perf_counter()
        self.client.send(AckClaim(name=READER, claim_id=claim.claim_id, owner=claim.owner, fence=claim.fence))
        self.ack_seconds = time.perf_counter() - start
        self.client.push_many(
            replace(fixtures.build_request(0, item.source), priority=item.priority) for item in batch.items
        )


def _fill(store: Store, raw: RawDatabase, size: int, shape: BacklogShape) -> None:
    """Push one event to the reader, and put so many copies of it in its place."""
    store.run_sync(push.push_event, fixtures.build_push(0))
    originals = {table: read_newest_row(raw, table) for table in ("events", "pending", "dedup_keys")}
    first_arrival, reader_number = originals["pending"]["arrival"], originals["pending"]["recipient"]
    new_values = {
        "arrival": f"number + {first_arrival}",
        # sixteen zeros and sixteen digits: as long as any id
        "id": "'evt_0000000000000000' || CAST(1000000000000000 + number AS TEXT)",
        "dedup_key": "'0000000000000000' || CAST(1000000000000000 + number AS TEXT)",
        "source": shape.source.format(size=size),
        "priority": shape.priority.format(size=size),
    }
    number_query = f"SELECT 1 AS number UNION ALL SELECT number + 1 FROM place WHERE number < {size}"
    raw.disable_safety()
    for table, original in originals.items():
        values = ", ".join(new_values.get(column, f"original.{column}") for column in original)
        raw.execute(
            f"INSERT INTO {table} ({', '.join(original)}) WITH RECURSIVE place AS ({number_query})"
            f" SELECT {values} FROM place CROSS JOIN {table} AS original WHERE original.arrival = {first_arrival}"
        )
        raw.execute(f"DELETE FROM {table} WHERE arrival = {first_arrival}")
    raw.execute(f"UPDATE accounts SET accepted = {size} WHERE recipient = {reader_number}")
    raw.set_last_arrival(first_arrival + size)
    raw.run_maintenance()
