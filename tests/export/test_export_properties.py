"""Whatever a column may hold arrives as it was, from either database on the other."""

import json
from collections.abc import Container, Iterator
from functools import cache
from itertools import cycle
from typing import Any

from hypothesis import HealthCheck, given, settings, strategies as st

from gatepost.core.text import fold_text
from gatepost.core.times import MAX_INSTANT
from gatepost.export.imported_row_check_actions import MAX_NUMBER
from gatepost.stores.row_mapping import BOOLEANS
from gatepost.testing import Kit
from tests.export.exports import dump, export_lines, fill_store, import_lines
from tests.property.run_machine import scale_examples
from tests.support.servers.database_reset import reset_database

#: columns that may hold any text, JSON, time or number
TEXTS = {"display", "subject", "content", "instruction", "reason", "question", "context", "summary"}
DOCUMENTS = {"data", "payload", "result"}
TIMES = {"created_at", "updated_at", "seen_at", "taken_at", "answered_at", "due_at", "expires_at", "deadline"}
NUMBERS = {"fired", "dropped_count", "fence", "tokens", "cycles"}
#: columns with one of these names that hold a form of their own
STRUCTURED_COLUMNS = {("outgoing", "data"), ("topic_messages", "content"), ("unrouted", "reason")}

texts = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]))
documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
).map(json.dumps)
times = st.integers(0, MAX_INSTANT)
numbers = st.integers(0, MAX_NUMBER)


@cache
def read_rows() -> list[dict[str, Any]]:
    """The documents of an export with a row in every table."""
    with Kit() as kit:
        fill_store(kit)
        return [json.loads(line) for line in export_lines(kit.store)]


@given(
    chosen_texts=st.lists(texts, min_size=5, max_size=5),
    chosen_documents=st.lists(documents, min_size=5, max_size=5),
    chosen_times=st.lists(times, min_size=5, max_size=5),
    chosen_numbers=st.lists(numbers, min_size=5, max_size=5),
    flags=st.lists(st.booleans(), min_size=3, max_size=3),
)
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=scale_examples(5)
)
def test_a_row_arrives_as_it_was(
    empty_postgres_url: str,
    chosen_texts: list[str],
    chosen_documents: list[str],
    chosen_times: list[int],
    chosen_numbers: list[int],
    flags: list[bool],
) -> None:
    values: list[tuple[Container[str], Iterator[Any]]] = [
        (TEXTS, cycle(chosen_texts)),
        (DOCUMENTS, cycle(chosen_documents)),
        (TIMES, cycle(chosen_times)),
        (NUMBERS, cycle(chosen_numbers)),
        (BOOLEANS, cycle(flags)),
    ]
    changed = []
    for document in read_rows():
        row = dict(document.get("row", {}))
        for columns, choices in values:
            row |= {
                name: next(choices)
                for name in row
                if name in columns and (document["table"], name) not in STRUCTURED_COLUMNS
            }
        if document.get("table") == "entities":
            row["display_key"] = fold_text(row["display"])
        changed.append({**document, "row": row} if row else document)
    reset_database(empty_postgres_url)
    with Kit() as first, Kit(empty_postgres_url) as second, Kit() as third:
        import_lines(first.store, [json.dumps(document).encode() for document in changed])
        exported = export_lines(first.store)
        assert [json.loads(line) for line in exported[1:]] == changed[1:]
        import_lines(second.store, exported)
        again = export_lines(second.store)
        assert sorted(again[1:-1]) == sorted(exported[1:-1])
        import_lines(third.store, again)
        assert dump(first.url) == dump(second.url) == dump(third.url)
