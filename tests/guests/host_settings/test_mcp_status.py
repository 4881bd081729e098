"""`gatepost mcp status`: where our server is, whether the host starts it, and what is left to do for that."""

import json
import sys
from pathlib import Path

import pytest

from tests.support.command_line import CommandLine

GATEPOST_PATH = str(Path(sys.executable).parent / "gatepost")
FILES = {"gemini": "settings.json", "codex": "config.toml"}


@pytest.mark.parametrize(
    ("platform", "folder"),
    [("darwin", "Library/Application Support"), ("win32", "AppData/Roaming"), ("linux", ".config")],
)
def test_claude_desktop_keeps_its_file_where_the_system_wants_it(
    empty_cli: CommandLine, tmp_path: Path, platform: str, folder: str
) -> None:
    empty_cli.environ |= {"HOME": str(tmp_path), "APPDATA": "", "XDG_CONFIG_HOME": ""}
    empty_cli.monkeypatch.setattr("gatepost.guests.host_settings.mcp_entries.sys.platform", platform)
    [row] = empty_cli("mcp", "status", "--host", "claude-desktop", "--json").json
    assert row["file"] == str(tmp_path / folder / "Claude" / "claude_desktop_config.json")


def test_what_is_not_as_it_should_be_is_said(empty_cli: CommandLine) -> None:
    file = empty_cli.cwd / "a.json"
    entry = {"type": "stdio", "command": "/gone/gatepost", "args": ["mcp"]}
    file.write_text(json.dumps({"mcpServers": {"gatepost": entry}}))
    result = empty_cli("mcp", "status", "--file", "a.json")
    assert (result.code, result.err) == (1, f"{file}: there is no program '/gone/gatepost'\n")
    assert result.out.splitlines()[1].split() == ["claude", "outdated", str(file)]
    file.write_text(json.dumps({"mcpServers": {"gatepost": entry | {"command": GATEPOST_PATH, "type": "sse"}}}))
    result = empty_cli("mcp", "status", "--file", "a.json")
    assert (result.code, result.err) == (1, f"{file}: they are not as `mcp install` would write them\n")
    file.write_text("{")
    [state] = empty_cli("mcp", "status", "--file", "a.json", "--json").json
    assert state["state"] == "unreadable"


@pytest.mark.parametrize(
    ("host", "text", "why"),
    [
        (
            "gemini",
            '{"mcp": {"excluded": ["gatepost"]}}',
            "Gemini CLI does not start the server, because `mcp.excluded`",
        ),
        ("gemini", '{"mcp": {"allowed": []}}', "Gemini CLI does not start the server, because `mcp.allowed` does not"),
        ("gemini", '{"mcp": {"allowed": ["gatepost"], "excluded": [1]}}', None),
        (
            "codex",
            '[mcp_servers.gatepost]\ncommand = "gatepost"\nargs = ["mcp"]\nenabled = false\n',
            "Codex does not start the server, because the entry has `enabled = false`",
        ),
    ],
)
def test_a_server_that_the_host_does_not_start_is_not_called_installed(
    empty_cli: CommandLine, host: str, text: str, why: str | None
) -> None:
    (empty_cli.cwd / FILES[host]).write_text(text)
    words = ("--host", host, "--file", FILES[host])
    empty_cli.run_ok("mcp", "install", *words)
    result = empty_cli("mcp", "status", *words, "--json")
    [state] = result.json
    assert (result.code, state["state"]) == ((0, "installed") if why is None else (1, "disabled"))
    assert str(state["why"]).startswith(str(why))


@pytest.mark.parametrize(
    "file", ["user/settings.json", "here/.claude/settings.json", "here/.claude/settings.local.json"]
)
def test_a_server_that_the_user_has_rejected_is_not_called_installed(
    empty_cli: CommandLine, tmp_path: Path, file: str
) -> None:
    empty_cli.environ |= {"CLAUDE_CONFIG_DIR": str(tmp_path / "user")}
    for scope in ("user", "project"):
        empty_cli.run_ok("mcp", "install", "--scope", scope)
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text('{"disabledMcpjsonServers": ["docs", "gatepost"]}')
    user, project = empty_cli.run_ok("mcp", "status", "--host", "claude", "--json").json
    assert (user["state"], project["state"]) == ("installed", "disabled"), "only servers of projects are asked for"
    assert project["why"].endswith(f"because '{tmp_path / file}' has it in `disabledMcpjsonServers`")
    (tmp_path / file).write_text('{"disabledMcpjsonServers": "gatepost"}')
    assert {row["state"] for row in empty_cli.run_ok("mcp", "status", "--host", "claude", "--json").json} == {
        "installed"
    }


@pytest.mark.parametrize(
    ("host", "scope", "note"),
    [
        ("claude", "project", "Claude Code starts the servers of a project only after you approve them"),
        ("claude-desktop", "user", "Claude Desktop reads the file when it starts: quit it, and start it again"),
        ("codex", "project", "Codex reads the settings of a project only if you trust it: start `codex` in it"),
        ("gemini", "user", "Gemini CLI starts MCP servers only in a folder that you trust"),
        ("gemini", "project", "Gemini CLI starts MCP servers only in a folder that you trust"),
        ("claude", "user", None),
        ("codex", "user", None),
        ("cursor", "project", None),
    ],
)
def test_what_is_left_to_do_is_said(
    empty_cli: CommandLine, tmp_path: Path, host: str, scope: str, note: str | None
) -> None:
    empty_cli.environ |= {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": "", "CODEX_HOME": "", "XDG_CONFIG_HOME": ""}
    assert empty_cli("mcp", "status", "--host", host).err == "", "there is nothing to do yet"
    created, *notes = empty_cli.run_ok("mcp", "install", "--host", host, "--scope", scope).err.splitlines()
    assert created == "created the file"
    assert [line.startswith(str(note)) for line in notes] == ([] if note is None else [True])
    assert empty_cli.run_ok("mcp", "status", "--host", host).err.splitlines() == notes
    rows = empty_cli.run_ok("mcp", "status", "--host", host, "--json").json
    [row] = [row for row in rows if row["scope"] == scope]
    assert row["note"] == (notes[0] if notes else None)
