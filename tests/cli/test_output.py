"""Tables: on a terminal, on a narrow one, and in a pipe."""

import sys

import pytest

from gatepost.cli import output

HEADINGS = ["NAME", "TEAM", "WHAT"]
ROWS = [["analyst", "web", "x" * 40], ["日本", "", "short"]]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> pytest.MonkeyPatch:
    """Stdout is a terminal that shows no colours; a test sets its width."""
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda _: True)
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return monkeypatch


def print_table(capsys: pytest.CaptureFixture[str], rows: list[list[str]] = ROWS) -> list[str]:
    output.table(HEADINGS, rows)
    return capsys.readouterr().out.splitlines()


def test_in_a_pipe_nothing_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    assert print_table(capsys) == ["NAME     TEAM  WHAT", f"analyst  web   {'x' * 40}", "日本           short"]


@pytest.mark.parametrize(("width", "last"), [(100, "x" * 40), (54, f"{'x' * 38}…"), (39, f"{'x' * 23}…")])
def test_on_a_terminal_the_last_column_fits(
    terminal: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: int, last: str
) -> None:
    terminal.setenv("COLUMNS", str(width))
    lines = print_table(capsys)
    assert lines[1] == f"analyst  web   {last}"
    assert all(len(line) <= width for line in lines)


def test_on_a_narrow_terminal_each_row_is_a_block(
    terminal: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal.setenv("COLUMNS", "38")
    assert print_table(capsys) == [
        "name  analyst",
        "team  web",
        f"what  {'x' * 40}",
        "",
        "name  日本",
        "what  short",
        "",
    ]


def test_headings_are_bold_only_where_colours_are_wanted(
    terminal: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal.setenv("COLUMNS", "100")
    terminal.setenv("TERM", "xterm")
    assert print_table(capsys)[0] == "\x1b[1mNAME     TEAM  WHAT\x1b[0m"
    terminal.setenv("NO_COLOR", "1")
    assert print_table(capsys)[0] == "NAME     TEAM  WHAT"


def test_text_from_outside_cannot_act_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert print_table(capsys, [["a\x1b[2J", "b\nc", "<d>\u202e"]])[1] == "a\\u001b[2J  b\\u000ac  <d>\\u202e"
    output.facts(("name", "a\x1b[2J<b>"))
    assert capsys.readouterr().out == "name  a\\u001b[2J<b>\n"
