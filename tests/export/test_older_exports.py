"""
Exports of every schema since the first are imported: `kept` has one of each, made by `fill_store` of its time.

Before a migration is added, `python -m tests.export.test_older_exports` keeps an export of the schema that it changes.
"""

import gzip
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from gatepost.stores import statements
from gatepost.testing import Kit
from tests.export.exports import RIGHTS, change_row, export_lines, fill_store, find_line, replace_line
from tests.support.command_line import CommandLine

FIRST: Final = statements.FIRST_VERSION
NEWEST: Final = statements.find_newest_version("sqlite")


def find_file(version: int) -> Path:
    return Path(__file__).parent / "kept" / f"schema-{version}.jsonl.gz"


def read_lines(version: int) -> list[bytes]:
    return gzip.decompress(find_file(version).read_bytes()).splitlines(keepends=True)


def write_file(cli: CommandLine, lines: Sequence[bytes]) -> str:
    path = cli.cwd / "backup.jsonl"
    path.write_bytes(b"".join(line.rstrip(b"\n") + b"\n" for line in lines))
    return str(path)


def count_rows(lines: Sequence[bytes]) -> Counter[str]:
    """The rows of each table; items were in one table before schema 27."""
    tables: list[str] = [json.loads(line)["table"] for line in lines[1:-1]]
    return Counter("items" if table in ("pending", "past") else table for table in tables)


@pytest.mark.parametrize("version", range(FIRST, NEWEST + find_file(NEWEST).exists()))
def test_every_kept_export_is_imported(empty_cli: CommandLine, version: int) -> None:
    lines = read_lines(version)
    assert json.loads(lines[0])["schema"] == version
    result = empty_cli.run_ok("import", write_file(empty_cli, lines))
    assert (f"migrated the export from schema {version}\n" in result.err) == (version < NEWEST)
    assert set(RIGHTS) >= {line.removeprefix("it has ") for line in result.err.splitlines() if "it has " in line}
    wrong = [line for line in empty_cli("doctor").out.splitlines() if line.startswith("wrong")]
    assert [line for line in wrong if line.split()[1] not in ("triggers", "routes", "providers", "models")] == []
    empty_cli.run_ok("export", "again.jsonl", "--secrets")
    rows, rows_before = count_rows((empty_cli.cwd / "again.jsonl").read_bytes().splitlines()), count_rows(lines)
    assert {name: rows[name] for name in rows_before if name != "counters"} == {
        name: count for name, count in rows_before.items() if name != "counters"
    }
    assert "ana" in empty_cli.run_ok("agent", "list").out
    assert "number 2" in empty_cli.run_ok("space", "read", "q4-report").out
    assert [path.name for path in empty_cli.home.iterdir() if path.name.startswith(".import")] == []


def test_the_oldest_is_imported_into_postgresql(empty_cli: CommandLine, postgres_url: str) -> None:
    result = empty_cli.run_ok("import", write_file(empty_cli, read_lines(FIRST)), GATEPOST_STORE=postgres_url)
    assert f"migrated the export from schema {FIRST}\n" in result.err
    assert "number 2" in empty_cli.run_ok("space", "read", "q4-report", GATEPOST_STORE=postgres_url).out


@pytest.mark.parametrize(
    ("old", "new", "error", "hint"),
    [
        (
            b'"schema":9',
            b'"schema":8',
            "line 1: the export has format 2 and schema 8, and only format 2 from schema 9 on can be imported",
            "migrate the store that it came from, and export that: docs/decisions/0028-one-first-migration.md",
        ),
        (
            b'"format":2',
            b'"format":1',
            "line 1: the export has format 1 and schema 9, and only format 2 from schema 9 on can be imported",
            "migrate the store that it came from, and export that: docs/decisions/0028-one-first-migration.md",
        ),
        (
            b'"schema":9',
            b'"schema":999',
            f"line 1: the export has schema 999, and this Gatepost knows schemas up to {NEWEST}",
            "upgrade gatepost: pip install -U gatepost",
        ),
    ],
    ids=["older schema", "older format", "newer schema"],
)
def test_others_are_refused_with_one_sentence(
    empty_cli: CommandLine, old: bytes, new: bytes, error: str, hint: str
) -> None:
    first, *lines = read_lines(FIRST)
    result = empty_cli("import", write_file(empty_cli, [first.replace(old, new), *lines]))
    assert (result.code, result.error) == (2, error)
    assert f"hint: {hint}\n" in result.err


class TestAnOlderExport:
    def test_names_the_line_that_is_broken(self, empty_cli: CommandLine) -> None:
        lines = replace_line(read_lines(FIRST), 5, b"{torn\n")
        assert empty_cli("import", write_file(empty_cli, lines)).error == "line 6: it is not JSON"

    def test_has_valid_values(self, empty_cli: CommandLine) -> None:
        lines = change_row(read_lines(FIRST), "plans", cron="never")
        result = empty_cli("import", write_file(empty_cli, lines))
        assert result.error.startswith(f"after the migration from schema {FIRST}, line ")
        assert empty_cli("person", "list").out.count("\n") == 2, "the heading and the administrator"

    def test_has_no_secrets_that_its_first_line_denies(self, empty_cli: CommandLine) -> None:
        first, *lines = read_lines(FIRST)
        denying = first.replace(b'"secrets":true', b'"secrets":false')
        result = empty_cli("import", write_file(empty_cli, [denying, *lines]))
        assert "and line 1 says that there are no secrets" in result.error

    def test_is_repaired(self, empty_cli: CommandLine) -> None:
        lines = read_lines(FIRST)
        row = json.loads(lines[find_line(lines, "items")])["row"]
        lines = change_row(lines, "items", arrival=row["arrival"] + 10_000)
        assert "and 'events' has no such row" in empty_cli("import", write_file(empty_cli, lines)).error
        result = empty_cli.run_ok("import", "--repair", write_file(empty_cli, lines))
        assert "left out before the migration: " in result.err
        assert "ok     accounts" in empty_cli("doctor").out


if __name__ == "__main__":
    with Kit() as kit:
        fill_store(kit)
        find_file(NEWEST).write_bytes(gzip.compress(b"".join(export_lines(kit.store)), mtime=0))
