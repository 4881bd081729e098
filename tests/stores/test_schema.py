"""The schema: however it was reached it is the same, and both databases mean the same by it."""

import re
import sqlite3
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from gatepost.directory import entity_rows as entities
from gatepost.errors import Unavailable
from gatepost.inbox import item_rows as items
from gatepost.inbox.push import dedup_key_rows as dedup_keys
from gatepost.residents import agent_actions as agents
from gatepost.stores import statements
from gatepost.testing import Kit
from tests.support.waits import LAST_RESORT

pytestmark = pytest.mark.usefixtures("real_migrations")

DIALECTS = ("sqlite", "postgres")
#: the schema by all migrations before they were squashed into 0009
RECORDED = Path(__file__).parents[1] / "fixtures" / "schema"

#: What PostgreSQL has and SQLite needs not: who committed when, and sequences.
ONLY_POSTGRES = {"events.xid", "messages.xid"}

TABLES = """
SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid)
FROM pg_attribute a
JOIN pg_class c ON c.oid = a.attrelid
LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'v')
    AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY c.relname, a.attname
"""
INDEXES = "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema() ORDER BY indexname"
CONSTRAINTS = """
SELECT conrelid::regclass::text, pg_get_constraintdef(oid)
FROM pg_constraint
WHERE connamespace = current_schema()::regnamespace
ORDER BY 1, 2
"""
#: without NOT NULL, which has a name only since PostgreSQL 18
NAMED_CONSTRAINTS = """
SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid)
FROM pg_constraint
WHERE connamespace = current_schema()::regnamespace AND contype <> 'n'
ORDER BY 1, 2
"""
VIEWS = "SELECT viewname, definition FROM pg_views WHERE schemaname = current_schema() ORDER BY viewname"


@pytest.fixture(params=DIALECTS)
def urls(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, str]]:
    """Two empty databases of one kind."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/one.db", f"sqlite:///{tmp_path}/two.db"
    else:
        postgres = request.getfixturevalue("postgres")
        with postgres.create_database() as first_url, postgres.create_database() as second_url:
            yield first_url, second_url


def read_schema(url: str) -> object:
    """Everything that a database says of its schema."""
    if url.startswith("sqlite"):
        database = sqlite3.connect(url.removeprefix("sqlite:///"))
        try:
            return sorted(database.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema"), key=str)
        finally:
            database.close()
    with psycopg.connect(url) as connection:
        return [connection.execute(query.encode()).fetchall() for query in (TABLES, INDEXES, CONSTRAINTS, VIEWS)]


def test_step_by_step_and_at_once_come_to_the_same(urls: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    direct_url, stepwise_url = urls
    with Kit(direct_url) as kit:
        assert kit.open().migrate()[0] == 0
    newest = statements.find_newest_version("sqlite")
    old_version = 0
    for version in range(statements.FIRST_VERSION, newest + 1):
        monkeypatch.setattr(statements, "find_newest_version", lambda _, version=version: version)
        with Kit(stepwise_url) as kit:
            assert kit.open().migrate() == (old_version, version)
        old_version = version
    assert read_schema(stepwise_url) == read_schema(direct_url)


def test_the_schema_is_the_recorded_one(urls: tuple[str, str]) -> None:
    """A change of the schema is a new migration, and a new record of what `describe_schema` returns."""
    url, _ = urls
    with Kit(url) as kit:
        assert kit.open().migrate()[0] == 0
    dialect = "sqlite" if url.startswith("sqlite") else "postgres"
    assert describe_schema(url) == (RECORDED / f"{dialect}.txt").read_text()


def describe_schema(url: str) -> str:
    """Return the schema as text, the same on every version of the database."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as database:
            texts = database.execute(
                "SELECT sql FROM sqlite_schema WHERE sql <> '' AND name NOT LIKE 'sqlite_stat%' ORDER BY type, name"
            ).fetchall()
        return "".join(f"{normalize_sql(text)}\n" for [text] in texts)
    with psycopg.connect(url) as connection:
        rows = [
            " ".join(map(str, row))
            for query in (TABLES, INDEXES, NAMED_CONSTRAINTS)
            for row in connection.execute(query.encode())
        ]
    return "".join(f"{row}\n" for row in rows)


def normalize_sql(text: str) -> str:
    """Return a statement on one line, without comments and quotes."""
    text = re.sub(r"--[^\n]*", "", text).replace('"', "")
    return re.sub(r"\s*([(),])\s*", r"\1", re.sub(r"\s+", " ", text)).strip()


def make_older_store(url: str, version: int, texts: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a store of an older version, and run statements on it."""
    with monkeypatch.context() as patch, Kit(url) as kit:
        patch.setattr(statements, "find_newest_version", lambda _: version)
        kit.open().migrate()
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as database:
            for text in texts:
                database.execute(text)
            database.commit()
    else:
        with psycopg.connect(url) as connection:
            for text in texts:
                connection.execute(text.encode())


def test_agents_keep_their_skills(urls: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """They were in the configurations of residents."""
    configs = ('{"model":"demo","skills":["routing"]}', '{"model":"demo","skills":[]}', '{"model":"demo"}')
    texts = []
    for number, config in enumerate(configs, 1):
        texts += [
            "INSERT INTO entities (number, name, kind, display, display_key, created_at)"
            f" VALUES ({number}, 'x{number}', 'agent', 'x', '', 1)",
            "INSERT INTO agents (entity, config, version, cycles, tokens, failures, updated_at)"
            f" VALUES ({number}, '{config}', 1, 0, 0, 0, 1)",
        ]
    make_older_store(urls[0], 17, texts, monkeypatch)
    with Kit(urls[0]) as kit:
        store = kit.open()
        store.migrate()
        residents = [store.read_sync(agents.read, number) for number in (1, 2, 3)]
    assert [resident.skills for resident in residents if resident is not None] == [("routing",), (), ()]


def test_entities_of_an_older_store_are_found_by_how_they_are_shown(
    urls: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {"Ana": "ana", "\uff28USAM": "husam", "Gro\u00df": "gross", "GRO\u1e9e": "gross", "\ufb01n": "fin"}
    values = ", ".join(f"({place}, 'x{place}', 'human', '{name}', 1)" for place, name in enumerate(names, 1))
    text = f"INSERT INTO entities (number, name, kind, display, created_at) VALUES {values}"
    make_older_store(urls[0], 15, [text], monkeypatch)
    with Kit(urls[0]) as kit:
        store = kit.open()
        store.migrate()
        shown = [name for name in names.values() if store.read_sync(entities.is_shown, name)]
        is_other_shown = store.read_sync(entities.is_shown, "an")
    assert shown == list(names.values())
    assert not is_other_shown


def test_processes_may_migrate_at_once(urls: tuple[str, str]) -> None:
    direct_url, raced_url = urls
    script = "import sys; from gatepost.app import open_store; print('ready', flush=True); input();"
    script += "store = open_store(sys.argv[1]); print(*store.migrate()); store.close()"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script, raced_url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    answers = [process.communicate(timeout=LAST_RESORT)[0].split() for process in processes]
    assert [process.returncode for process in processes] == [0] * 4
    newest = str(statements.find_newest_version("sqlite"))
    assert {new_version for _, new_version in answers} == {newest}
    assert {old_version for old_version, _ in answers} <= {"0", newest}
    with Kit(direct_url) as kit:
        kit.open().migrate()
    assert read_schema(raced_url) == read_schema(direct_url)


def test_both_dialects_have_the_same_migrations() -> None:
    assert statements.find_newest_version("sqlite") == statements.find_newest_version("postgres")
    for number in range(statements.FIRST_VERSION, statements.find_newest_version("sqlite") + 1):
        oldest = set()
        for dialect in DIALECTS:
            text = statements.read_migration(dialect, number)
            assert text is not None
            oldest.add(statements.parse_oldest_version(text))
        assert len(oldest) == 1
        assert 1 <= oldest.pop() <= number


def test_both_databases_have_the_same_tables_columns_and_indexes(tmp_path: Path, postgres_url: str) -> None:
    file = tmp_path / "gatepost.db"
    for url in (f"sqlite:///{file}", postgres_url):
        with Kit(url) as kit:
            kit.store.close()
    columns: dict[str, dict[str, bool]] = defaultdict(dict)
    sqlite = sqlite3.connect(file)
    try:
        for kind, name in sqlite.execute(
            "SELECT type, name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_stat%'"
        ):
            for _, column, _, not_null, _, key in sqlite.execute(f"PRAGMA table_info({name})").fetchall():
                columns["sqlite"][f"{name}.{column}"] = bool(not_null or key) if kind == "table" else False
        indexes = {
            row[0] for row in sqlite.execute("SELECT name FROM sqlite_schema WHERE type = 'index' AND sql <> ''")
        }
    finally:
        sqlite.close()
    with psycopg.connect(postgres_url) as connection:
        for table, column, _, not_null, _ in connection.execute(TABLES.encode()).fetchall():
            columns["postgres"][f"{table}.{column}"] = not_null
        postgres_indexes = {
            name for name, text in connection.execute(INDEXES.encode()) if not re.search(r"_(pkey|key)$", name)
        }
    for name in ONLY_POSTGRES:
        columns["postgres"].pop(name, None)
    assert columns["sqlite"] == columns["postgres"]
    assert indexes <= postgres_indexes


def test_a_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    other_database = sqlite3.connect(tmp_path / "other.db")
    other_database.execute("CREATE TABLE theirs (number)")
    other_database.commit()
    other_database.close()
    before = (tmp_path / "other.db").read_bytes()
    with Kit(f"sqlite:///{tmp_path}/other.db") as kit, pytest.raises(Unavailable, match="another program"):
        kit.open().migrate()
    assert (tmp_path / "other.db").read_bytes() == before


@pytest.mark.parametrize(
    "content", [b"not a database at all, but long enough to be looked at" * 20, b"SQLite format 3\x00"]
)
def test_what_is_not_a_database_is_left_alone(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "odd.db").write_bytes(content)
    with Kit(f"sqlite:///{tmp_path}/odd.db") as kit, pytest.raises(Unavailable):
        kit.open().migrate()
    assert (tmp_path / "odd.db").read_bytes() == content


def test_items_of_an_older_store_keep_their_states_and_keys(
    urls: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is where its state belongs; an acked claim is what delivers an item."""
    outcomes = {1: "NULL, NULL", 2: "5, 'acked'"}
    texts = [
        "INSERT INTO entities (number, name, kind, display, display_key, created_at)"
        " VALUES (1, 'ann', 'agent', 'Ann', 'ann', 1)",
        *(
            "INSERT INTO claims (number, id, recipient, kind, owner, fence, taken_at, ended_at, outcome)"
            f" VALUES ({number}, 'clm_{number}', 1, 'drain', 'x', {number}, 1, {end})"
            for number, end in outcomes.items()
        ),
    ]
    old_items = [
        ("pending", "NULL", "NULL"),
        ("claimed", "1", "NULL"),
        ("delivered", "2", "5"),
        ("delivered", "NULL", "4"),
        ("expired", "NULL", "6"),
        ("dead", "NULL", "7"),
        ("discarded", "NULL", "8"),
    ]
    for arrival, (state, claim, ended_at) in enumerate(old_items, 1):
        texts += [
            "INSERT INTO events (arrival, id, type, source, content, priority, created_at, hops, trust)"
            f" VALUES ({arrival}, 'evt_{arrival}', 'event', 'x', 'x', 2, 1, 0, 'member')",
            "INSERT INTO items (recipient, arrival, dedup_key, priority, sender_is_person, source, wakes, state, claim,"
            " attempts, ended_at, size)"
            f" VALUES (1, {arrival}, 'key-{arrival}', 2, FALSE, 'x', TRUE, '{state}', {claim}, 0, {ended_at}, 9)",
        ]
    make_older_store(urls[0], 26, texts, monkeypatch)
    with Kit(urls[0]) as kit:
        store = kit.open()
        assert store.migrate() == (26, statements.find_newest_version("sqlite"))
        page = store.read_sync(
            items.list_page, {}, recipient=1, newest_first=False, after=0, after_recipient=None, limit=9
        )
        keys = store.read_sync(dedup_keys.find_events, [1], "key-3")
    assert [(str(item.state), item.ended_at, item.event.dedup_key) for item in page] == [
        (state, None if ended_at == "NULL" else int(ended_at), f"key-{arrival}")
        for arrival, (state, _, ended_at) in enumerate(old_items, 1)
    ]
    assert keys == {1: "evt_3"}
