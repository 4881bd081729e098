"""
Write the whole store as lines of JSON, from SQLite or PostgreSQL alike. `export/import_actions.py` reads them.

    {"gatepost":"export","format":2,"schema":17,"createdAt":"2026-02-18T09:00:00Z","secrets":false}
    {"table":"entities","row":{"number":1,"name":"admin","kind":"human",...}}     one line for each row, parents first
    ...
    {"end":{"entities":4,"pending":14,...},"unreadable":[]}                         the number of rows of each table

A row has the columns of its table that are not NULL. Times are microseconds, booleans are true and false, and JSON that
the store keeps as text stays that text. So a row arrives unchanged, whichever database it goes to.

*An export shows one moment*: it is one transaction that reads. It holds one page of rows in memory. If a part of a
table is damaged, the export reports that and continues with the rows behind that part, as far back from the end as all
rows can be read.
"""

import json
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from gatepost.channels import pairing_actions as pairing
from gatepost.core.escaping import escape_invisible
from gatepost.core.ports import Reader
from gatepost.core.times import format_rfc3339
from gatepost.errors import Damaged, GatepostError
from gatepost.export import catalog_rows as catalog
from gatepost.export.catalog_rows import Key, Table
from gatepost.residents import agent_config_json as agent_config
from gatepost.stores import statements

FORMAT: Final = 2
#: every table but `leases` and `schema_version`, each after those that it refers to; `counters` are set, not inserted
TABLES: Final = (  # noqa: SIM905
    "entities names inboxes accounts sessions events broadcasts claims pending past dedup_keys attention"
    " spaces members messages"
    " agents memories goals minds runs steps calls gates waiters resolutions decisions respondents answers plans"
    " outgoing outgoing_recipients work_items ledger_accounts ledger_payers ledger_steps topics topic_messages"
    " connections triggers channel_cursors route_rules unrouted channel_sessions pairings shared_entries"
    " channel_messages voice_messages keys idempotency_keys jobs"
).split()
COUNTERS: Final = "counters"
#: rows of a page and of a batch, and characters of text in one
PAGE_ROWS: Final = 500
PAGE_CHARACTERS: Final = 4 * 1024 * 1024


@dataclass(slots=True)
class Summary:
    """The number of rows of each table that were exported or imported, and notes for the person who did it."""

    rows: Counter[str] = field(default_factory=Counter)
    #: what was left out
    omissions: list[str] = field(default_factory=list)
    #: what an import lets others do: keys, open triggers, commands
    rights: list[str] = field(default_factory=list)


def export_store(tx: Reader, write: Callable[[bytes], object], *, secrets: bool = False) -> Summary:
    """
    Write all tables except leases. Only with `secrets`, write the secrets of triggers (without them, triggers are
    closed), the headers and environments of residents' tools, and the administrator's keys. The token of a bot, or of
    another provider, is never written, nor is what lets a user in: a code, a one-time link, the key of a browser.
    """
    summary = Summary()
    codes: set[str] = set()
    tx.max_page_chars = PAGE_CHARACTERS
    schema, _ = statements.read_schema_version(tx)
    head = {"gatepost": "export", "format": FORMAT, "schema": schema, "createdAt": format_rfc3339(tx.now)}
    write(_encode({**head, "secrets": secrets}))
    tables = catalog.read_tables(tx, TABLES)
    for name in (COUNTERS, *TABLES):
        if name == COUNTERS:
            rows: Iterable[dict[str, Any]] = _read_counters(tx, summary)
        elif name in tables:
            rows = _read_rows(tx, tables[name], summary)
        else:
            summary.omissions.append(f"{name}: there is no such table")
            continue
        for row in rows:
            is_token = name == "triggers" and row["provider"] != "webhook" and row["secret"] is not None
            lets_in = name in ("pairings", "channel_messages") or (name == "keys" and row["kind"] in ("page", "link"))
            if name == "pairings":
                codes.add(row["code"])
            exported = row if secrets and not is_token and not lets_in else _remove_secrets(name, row, summary, codes)
            if exported is not None:
                present = {column: value for column, value in exported.items() if value is not None}
                write(_encode({"table": name, "row": present}))
                summary.rows[name] += 1
    write(_encode({"end": summary.rows, "unreadable": summary.omissions}))
    return summary


def _encode(document: Mapping[str, Any]) -> bytes:
    """Return a line. What a terminal could act on is escaped, which is the same JSON."""
    line = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return escape_invisible(line).encode() + b"\n"


def _read_counters(tx: Reader, summary: Summary) -> list[dict[str, Any]]:
    try:
        return catalog.read_counters(tx)
    except Damaged:
        summary.omissions.append(f"{COUNTERS}: no rows can be read")
        return []


def _read_rows(tx: Reader, table: Table, summary: Summary) -> Iterator[dict[str, Any]]:
    """Yield the rows in the order of the key. After a row that cannot be read, continue with the last rows that can."""
    after: Key | None = None
    limit = PAGE_ROWS
    while True:
        try:
            page = catalog.read_page(tx, table, after, limit)
        except Damaged:
            if limit > 1:
                limit = 1
                continue
            first = _find_tail(tx, table, after)
            start = f" after {after}" if after is not None else ""
            stop = f" before {table.key_of(first)}" if first is not None else ""
            summary.omissions.append(f"{table.name}: rows{start}{stop} cannot be read")
            if first is None:
                return
            page, limit = [first], PAGE_ROWS
        if not page:
            return
        yield from page
        after = table.key_of(page[-1])


def _find_tail(tx: Reader, table: Table, after: Key | None) -> dict[str, Any] | None:
    """Return the first row behind a damaged part from which on all rows can be read, or None."""
    first: dict[str, Any] | None = None
    limit = PAGE_ROWS
    while True:
        before = table.key_of(first) if first is not None else None
        try:
            page = catalog.read_page(tx, table, before, limit, backwards=True)
        except Damaged:
            if limit == 1:
                return first
            limit = 1
            continue
        for row in page:
            if after is not None and table.key_of(row) <= after:
                return first
            first = row
        if not page:
            return first


def _remove_secrets(table: str, row: dict[str, Any], summary: Summary, codes: Container[str]) -> dict[str, Any] | None:
    """Return a row without secrets; None if nothing is left of it. `codes` are the hashes of codes in messages."""
    match table:
        case "keys" if row["kind"] in ("admin", "page", "link"):
            return None
        case "triggers":
            return row | {"secret": None, "active": False}
        case "pairings":
            return row | {"code": ""}
        case "channel_messages":
            return row | {"content": pairing.hide_codes(row["content"], codes)}
        case "agents":
            try:
                bare = agent_config.replace_secrets(agent_config.decode(row["config"]), lambda _: {})
                bare = agent_config.hide_url_secrets(bare)
            except (GatepostError, ValueError, RecursionError):
                summary.omissions.append(f"agents: the configuration of entity {row['entity']} cannot be read")
                return None
            return row | {"config": agent_config.encode(bare)}
        case _:
            return row
