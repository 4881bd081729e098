"""
Every operation and every command answers, and every tool is described to a model, as the files beside this one say.
They are a snapshot: they say nothing about how it should be, but a change of any answer is seen in a diff.
`transcript.py` explains their form, and

    .venv/bin/python -m tests.snapshot

writes them anew. Who has to be refused is not theirs to say: `tests/operations/test_access.py` walks all operations.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from gatepost.executor import load_operations
from tests.snapshot.commands import ENDLESS, find_command, list_commands
from tests.snapshot.record import FOLDER, WRONG_INPUT, explain_difference, list_files, record
from tests.snapshot.requests import parse_request
from tests.snapshot.transcript import Step, Values, format_json, parse

#: operations that need more than a gateway, and where they are tested
ANSWERED_ELSEWHERE: Final = {"POST /channels/telegram/{bot}": "tests/channels/telegram/bot_api/test_webhooks.py"}


@pytest.mark.parametrize("path", list_files(), ids=lambda path: str(path.relative_to(FOLDER)))
def test_all_is_answered_as_recorded(path: Path) -> None:
    difference = explain_difference(path, path.read_text(encoding="utf-8"), record(path))
    assert not difference, difference


def list_steps(folder: str) -> Iterator[Step]:
    for path in sorted((FOLDER / folder).glob("*.txt")):
        yield from (part for part in parse(path.read_text(encoding="utf-8")) if isinstance(part, Step))


def test_every_operation_is_recorded_with_success() -> None:
    patterns = {
        operation.endpoint: re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(operation.endpoint)))
        for operation in sorted(load_operations(), key=lambda operation: operation.path.count("{"))
    }
    answered: set[str] = set()
    for step in list_steps("operations"):
        if step.recorded and step.recorded[0].startswith("2"):
            _, method, path, _ = parse_request(step.text)
            request = f"{method} {path.partition('?')[0]}"
            answered.add(next(route for route, pattern in patterns.items() if pattern.fullmatch(request)))
    assert set(patterns) - answered == set(ANSWERED_ELSEWHERE)


def test_every_operation_is_recorded_with_wrong_input() -> None:
    sections = WRONG_INPUT.read_text(encoding="utf-8").split("\n\n")
    refused = {
        section.partition("\n")[0] for section in sections if re.search(r"^  .{30} 4\d\d ", section, re.MULTILINE)
    }
    assert refused == {operation.endpoint for operation in load_operations()}


def test_every_command_is_recorded_with_success_with_json_and_with_an_error() -> None:
    ways: dict[str, set[str]] = defaultdict(set)
    for step in list_steps("commands"):
        if step.text.startswith("$ "):
            is_error = step.recorded[-1:] != [] and step.recorded[-1].startswith("exit ")
            ways[find_command(step.text)].add("error" if is_error else "json" if " --json" in step.text else "plain")
    expected = {
        path: {"plain", "error"}
        | ({"json"} if any("--json" in parameter.opts for parameter in command.params) else set())
        for path, command in list_commands().items()
        if path and path not in ENDLESS
    }
    assert {path: sorted(names - ways[path]) for path, names in expected.items() if names - ways[path]} == {}


def test_what_is_left_out_is_tested_elsewhere() -> None:
    assert set(ENDLESS) <= set(list_commands())
    root = FOLDER.parents[1]
    assert [place for place in (*ENDLESS.values(), *ANSWERED_ELSEWHERE.values()) if not (root / place).exists()] == []


def test_a_difference_names_the_file_and_how_to_accept_it() -> None:
    path = FOLDER / "operations" / "gates.txt"
    assert explain_difference(path, "one\ntwo\n", "one\ntwo\n") == ""
    difference = explain_difference(path, "one\ntwo\n", "one\nthree\n")
    assert "-two\n+three\n" in difference
    assert "python -m tests.snapshot tests/snapshot/operations/gates.txt" in difference


def test_what_is_random_is_shown_by_its_name_or_its_place() -> None:
    ids = [f"gate_{digit * 32}" for digit in "abc"]
    values = Values({"gate": ids[1]}, {"/a/b": "<folder>"})
    assert values.mask(f"{ids[2]} {ids[1]} {ids[0]} {ids[2]} in /a/b") == "<gate 1> $gate <gate 2> <gate 1> in <folder>"
    assert values.mask("'sk_0aBc-_D-': sk_0aBc-_D-; pk_--------") == "'<sk 1>': <sk 1>; <pk 1>"
    assert values.fill("GET /api/gates/$gate") == f"GET /api/gates/{ids[1]}"


def test_a_document_that_is_written_in_another_way_is_shown_as_it_is() -> None:
    assert format_json('{"a":[1,2.0]}') == ['{"a": [1, 2.0]}']
    assert format_json('{"a": 1}') == ['{"a": 1}']
    assert format_json('{"a":1e2}') == ['{"a":1e2}']
    assert format_json("no JSON") == ["no JSON"]
    assert format_json(f'{{"a":"{"x" * 120}"}}') == ["{", f'  "a": "{"x" * 120}",', "}"]
