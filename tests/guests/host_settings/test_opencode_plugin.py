"""Our plugin for OpenCode: a file of its own, in and out again."""

from pathlib import Path

import pytest

from tests.support.command_line import CommandLine

WORDS = ("--host", "opencode")


@pytest.fixture
def plugin(empty_cli: CommandLine, tmp_path: Path) -> Path:
    """Where the plugin of this user is."""
    empty_cli.monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    empty_cli.environ |= {"HOME": str(tmp_path)}
    return tmp_path / ".config/opencode/plugin/gatepost.js"


def test_it_is_installed_once_and_leaves_nothing(empty_cli: CommandLine, plugin: Path) -> None:
    empty_cli.run_ok("agent", "add", "ann")
    result = empty_cli.run_ok("hooks", "install", *WORDS, "--agent", "ann")
    assert (result.out, result.err.splitlines()[0]) == (f"{plugin}\n", "created the file")
    installed = plugin.read_text()
    [state, _] = empty_cli.run_ok("hooks", "status", *WORDS, "--json").json
    assert (state["state"], state["agents"], state["why"]) == ("installed", ["ann"], None)
    assert state["events"] == ["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd"]
    again = empty_cli.run_ok("hooks", "install", *WORDS)
    assert again.err.splitlines()[0] == "the entries of Gatepost are installed already"
    assert plugin.read_text() == installed
    assert empty_cli.run_ok("hooks", "uninstall", *WORDS).err == (
        "removed the file, which had only entries of Gatepost\n"
    )
    assert list(plugin.parent.iterdir()) == []


def test_one_that_was_changed_is_outdated_and_written_anew(empty_cli: CommandLine, plugin: Path) -> None:
    empty_cli.run_ok("hooks", "install", *WORDS)
    installed = plugin.read_text()
    plugin.write_text(f"{installed}// mine\n")
    [state, _] = empty_cli("hooks", "status", *WORDS, "--json").json
    assert (state["state"], state["why"]) == ("outdated", "they are not as `hooks install` would write them")
    empty_cli.run_ok("hooks", "install", *WORDS)
    assert plugin.read_text() == installed
    plugin.write_text(f"{installed}// mine\n")
    empty_cli.run_ok("hooks", "uninstall", *WORDS)
    assert list(plugin.parent.iterdir()) == []


def test_a_file_of_somebody_else_stays(empty_cli: CommandLine, plugin: Path) -> None:
    plugin.parent.mkdir(parents=True)
    text = "export const Mine = async () => ({})\n"
    plugin.write_text(text)
    result = empty_cli("hooks", "install", *WORDS)
    assert (result.code, result.error) == (2, f"'{plugin}' was not changed: it is not a plugin of Gatepost")
    assert result.err.splitlines()[1] == "hint: move that file away"
    assert empty_cli.run_ok("hooks", "uninstall", *WORDS).err == "the file has no entries of Gatepost\n"
    assert plugin.read_text() == text
    assert [path.name for path in plugin.parent.iterdir()] == ["gatepost.js"]


def test_a_gate_of_tools_is_passed_on(empty_cli: CommandLine, plugin: Path) -> None:
    empty_cli.run_ok("gate", "register", "review", "--hook", "PreToolUse")
    empty_cli.run_ok("hooks", "install", *WORDS, "--scope", "project")
    [user, project] = empty_cli.run_ok("hooks", "status", *WORDS, "--json").json
    assert (user["state"], project["state"]) == ("missing", "installed")
    assert project["file"] == str(empty_cli.cwd / ".opencode/plugin/gatepost.js")
    assert project["events"][-1] == "PreToolUse"
