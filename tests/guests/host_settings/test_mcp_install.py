"""`gatepost mcp install`, `uninstall` and `status`, on files as they are found in the world."""

import json
import os
import re
import stat
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from gatepost.guests.host_settings.mcp_entries import HOSTS
from tests.support.command_line import ACCESS_MODES, CommandLine

GATEPOST_PATH = str(Path(sys.executable).parent / "gatepost")
BACKUP_MESSAGE = re.compile(r"the backup is (\S+\.gatepost-mcp-[0-9a-f]{16}\.bak)\n")

#: what people have, by host and file name
SETTINGS_FILES = {
    ("claude", "claude.json"): """{
  "numStartups": 12,
  "mcpServers": {
    "docs": {
      "type": "stdio",
      "command": "docs",
      "args": [],
      "env": {}
    }
  },
  "projects": {"/work": {"mcpServers": {"gatepost": {"command": "gatepost", "args": ["mcp"]}}}}
}""",
    ("claude", "tabs.json"): '\ufeff{\r\n\t"mcpServers": {},\r\n\t"a": 1\r\n}',
    ("claude", "older.json"): '{"mcpServers": {"gatepost": {"command": "/old/gatepost", "args": ["mcp"]}, "a": {}}}\n',
    ("claude", "empty.json"): "",
    ("claude-desktop", "claude_desktop_config.json"): '{"globalShortcut": "", "mcpServers": {"a": {"command": "b"}}}',
    ("gemini", "settings.json"): """{
  // mine, do not touch
  "mcpServers": {
    "docs": { "command": "docs", "trust": true, },   /* trailing comma */
  },
  "mcp": { "allowed": ["docs", "gatepost"] }
}
""",
    ("cursor", "mcp.json"): '{"mcpServers": {"gatepost-test": {"url": "http://127.0.0.1:1/mcp"}}}\n',
    ("codex", "config.toml"): '''model = "gpt"
notes = """
[mcp_servers.gatepost]
"""

[mcp_servers.docs]
command = "docs"

[mcp_servers.docs.env]
KEY = "a"

# the hooks
[[hooks.Stop]]
[[hooks.Stop.hooks]]
command = "true"''',
}


def list_backups(file: Path) -> list[str]:
    return [path.name for path in file.parent.iterdir() if path != file]


def read_document(file: Path) -> Any:
    """A settings file, as any reader of it has it."""
    if file.suffix == ".toml":
        return tomllib.loads(file.read_text())
    text = re.sub(r"/\*.*?\*/|// [^\n\r]*", "", file.read_text(encoding="utf-8-sig"))
    return json.loads(re.sub(r",(\s*[}\]])", r"\1", text))


def read_servers(file: Path) -> dict[str, Any]:
    document = read_document(file)
    servers: dict[str, Any] = document.get("mcp_servers") or document.get("mcpServers") or document["mcp"]
    return servers


def read_arguments(file: Path) -> list[str]:
    """The arguments of our server; in OpenCode they follow its command."""
    entry = read_servers(file)["gatepost"]
    arguments: list[str] = entry["args"] if "args" in entry else entry["command"][1:]
    return arguments


def name_file(host: str) -> str:
    return "config.toml" if host == "codex" else "settings.json"


@pytest.mark.parametrize(("host", "name"), SETTINGS_FILES)
def test_in_and_out_again(empty_cli: CommandLine, host: str, name: str) -> None:
    file, before = empty_cli.cwd / name, SETTINGS_FILES[host, name]
    file.write_bytes(before.encode())
    file.chmod(0o600)
    words = ("--host", host, "--file", name)
    others = {} if not before else {key: value for key, value in read_document(file).items() if "mcp" not in key}

    install_result = empty_cli.run_ok("mcp", "install", *words)
    assert install_result.out == f"{file}\n"
    backup = BACKUP_MESSAGE.fullmatch(install_result.err)
    assert backup is not None, install_result.err
    assert list_backups(file) == [backup[1]]
    assert {stat.S_IMODE(path.stat().st_mode) for path in (file, file.with_name(backup[1]))} == {0o600}
    entry = read_servers(file)["gatepost"]
    assert (entry["command"], entry["args"]) == (GATEPOST_PATH, ["mcp"])
    assert {key: value for key, value in read_document(file).items() if "mcp" not in key} == others
    installed_bytes = file.read_bytes()
    assert empty_cli.run_ok("mcp", "install", *words).err == "the entries of Gatepost are installed already\n"
    assert (file.read_bytes(), list_backups(file)) == (installed_bytes, [backup[1]])
    [state] = empty_cli.run_ok("mcp", "status", *words, "--json").json
    assert (state["state"], state["file"], state["scope"], state["why"]) == ("installed", str(file), None, None)

    uninstall_result = empty_cli.run_ok("mcp", "uninstall", *words)
    assert list_backups(file) == []
    if name == "older.json":  # there was one of ours before, and that is gone too
        assert json.loads(file.read_text()) == {"mcpServers": {"a": {}}}
    else:
        assert uninstall_result.err == "restored the backup\n"
        assert file.read_bytes() == before.encode()
    assert empty_cli.run_ok("mcp", "uninstall", *words).err == "the file has no entries of Gatepost\n"
    assert empty_cli("mcp", "status", *words).code == 1


@pytest.mark.parametrize(("host", "name"), SETTINGS_FILES)
def test_out_of_a_file_that_somebody_changed(empty_cli: CommandLine, host: str, name: str) -> None:
    """A host may write its own file at any time, as Claude Code does."""
    file, before = empty_cli.cwd / name, SETTINGS_FILES[host, name]
    file.write_bytes(before.encode())
    words = ("--host", host, "--file", name)
    empty_cli.run_ok("mcp", "install", *words)
    if file.suffix == ".toml":
        file.write_bytes(file.read_bytes() + b"\n[theirs]\na = 1\n")
    else:
        file.write_text(json.dumps(read_document(file) | {"theirs": {"a": 1}}, indent=1))
    assert empty_cli.run_ok("mcp", "uninstall", *words).err == "removed the entries of Gatepost\n"
    document = read_document(file)
    assert document.pop("theirs") == {"a": 1}
    expected_file = empty_cli.cwd / f"expected{file.suffix}"
    expected_file.write_bytes(before.encode() or b"{}")
    expected = read_document(expected_file)
    expected.get("mcpServers", {}).pop("gatepost", None)
    assert document == expected
    expected_file.unlink()
    assert list_backups(file) == []


@pytest.mark.parametrize("host", HOSTS)
def test_where_there_was_no_file_there_is_none_again(empty_cli: CommandLine, tmp_path: Path, host: str) -> None:
    empty_cli.environ |= {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": "", "CODEX_HOME": "", "XDG_CONFIG_HOME": ""}
    empty_cli.monkeypatch.setattr(sys, "platform", "linux")
    install_result = empty_cli.run_ok("mcp", "install", "--host", host)
    file = Path(install_result.out.strip())
    assert file == tmp_path / {
        "claude": ".claude.json",
        "claude-desktop": ".config/Claude/claude_desktop_config.json",
        "codex": ".codex/config.toml",
        "gemini": ".gemini/settings.json",
        "cursor": ".cursor/mcp.json",
        "opencode": ".config/opencode/opencode.json",
    }.get(host, "")
    assert install_result.err.splitlines()[0] == "created the file"
    assert read_servers(file).keys() == {"gatepost"}
    [user, *_] = empty_cli.run_ok("mcp", "status", "--host", host, "--json").json
    assert (user["scope"], user["state"], user["file"]) == ("user", "installed", str(file))
    uninstall_result = empty_cli.run_ok("mcp", "uninstall", "--host", host)
    assert uninstall_result.err == "removed the file, which had only entries of Gatepost\n"
    assert not file.exists()


def test_scopes_and_the_folders_that_variables_name(empty_cli: CommandLine, tmp_path: Path) -> None:
    def file(*words: str, **environ: str) -> str:
        empty_cli.environ |= environ
        return empty_cli.run_ok("mcp", "install", *words).out.strip()

    own_folder, cwd = str(tmp_path / "own"), empty_cli.cwd
    empty_cli.environ["HOME"] = str(tmp_path)
    assert file(CLAUDE_CONFIG_DIR=own_folder) == f"{own_folder}/.claude.json"
    assert file("--scope", "project") == f"{cwd}/.mcp.json"
    assert file("--host", "codex", CODEX_HOME=own_folder) == f"{own_folder}/config.toml"
    assert file("--host", "codex", "--scope", "project") == f"{cwd}/.codex/config.toml"
    assert file("--host", "gemini", "--scope", "project") == f"{cwd}/.gemini/settings.json"
    assert file("--host", "cursor", "--scope", "project") == f"{cwd}/.cursor/mcp.json"
    rows = empty_cli.run_ok("mcp", "status", "--json", XDG_CONFIG_HOME=own_folder).json
    assert [(row["host"], row["scope"], row["state"]) for row in rows] == [
        ("claude", "user", "installed"),
        ("claude", "project", "installed"),
        ("claude-desktop", "user", "missing"),
        ("codex", "user", "installed"),
        ("codex", "project", "installed"),
        ("gemini", "user", "missing"),
        ("gemini", "project", "installed"),
        ("cursor", "user", "missing"),
        ("cursor", "project", "installed"),
        ("opencode", "user", "missing"),
        ("opencode", "project", "missing"),
    ]
    table = empty_cli.run_ok("mcp", "status").out.splitlines()
    assert table[0].split() == ["HOST", "SCOPE", "STATE", "AGENT", "FILE"]
    assert len(table) == 1 + len(rows)


@pytest.mark.parametrize("host", HOSTS)
def test_a_host_without_a_project_is_given_the_home(empty_cli: CommandLine, host: str) -> None:
    """Others start a server in the project, with the environment of the session; Codex passes on what it is told."""
    words = ("--host", host, "--file", name_file(host))
    file = empty_cli.cwd / name_file(host)
    empty_cli.run_ok("mcp", "install", *words)
    entry = read_servers(file)["gatepost"]
    has_home = host in ("claude-desktop", "cursor")
    assert entry.get("env") == ({"GATEPOST_HOME": str(empty_cli.home)} if has_home else None)
    assert entry.get("env_vars") == (["GATEPOST_HOME", "GATEPOST_AGENT"] if host == "codex" else None)
    assert entry.get("type") == ({"claude": "stdio", "cursor": "stdio", "opencode": "local"}.get(host))
    [state] = empty_cli.run_ok("mcp", "status", *words, "--json").json
    assert state["homes"] == ([str(empty_cli.home)] if has_home else [])
    # another home here, as in another project: what is installed stays right, until it is installed from there
    other = str(empty_cli.home.with_name("other"))
    empty_cli.run_ok("mcp", "status", *words, GATEPOST_HOME=other)
    assert empty_cli.run_ok("mcp", "install", *words, "--json", GATEPOST_HOME=other).json["changed"] == has_home
    [state] = empty_cli.run_ok("mcp", "status", *words, "--json").json
    assert state["homes"] == ([other] if has_home else [])


@pytest.mark.parametrize("cli", ACCESS_MODES, indirect=True)
@pytest.mark.parametrize("host", HOSTS)
def test_whom_it_acts_for_is_written_into_the_entry(cli: CommandLine, host: str) -> None:
    words = ("--host", host, "--file", name_file(host))
    file = cli.cwd / name_file(host)
    cli.run_ok("mcp", "install", *words, "--as", "bead-42")
    args = ["mcp", "--as", "quinn"]
    assert read_arguments(file) == args, "an alias is written as the name it stands for"
    [state] = cli.run_ok("mcp", "status", *words, "--json").json
    assert (state["state"], state["agents"]) == ("installed", ["quinn"])
    assert "quinn" in cli.run_ok("mcp", "status", *words).out.splitlines()[1].split()
    result = cli.run_ok("mcp", "install", *words, "--json").json
    assert (result["agent"], result["changed"]) == ("quinn", False), "the name stays"
    cli.run_ok("mcp", "install", *words, "--as", "husam")
    assert read_arguments(file) == ["mcp", "--as", "husam"], "a person has an inbox too"
    cli.run_ok("mcp", "uninstall", *words)
    assert not file.exists()


def test_a_name_that_nobody_has_is_not_written(cli: CommandLine) -> None:
    refusal = cli("mcp", "install", "--file", "a.json", "--as", "analist")
    assert (refusal.code, refusal.error) == (2, "there is no entity 'analist'")
    assert cli("mcp", "install", "--file", "a.json", "--as", "").error == "--as is empty"
    assert list(cli.cwd.iterdir()) == []


def test_what_the_user_has_added_to_our_entry_stays(empty_cli: CommandLine) -> None:
    entry = {"command": "/old/gatepost", "args": ["mcp"], "trust": True, "env": {"GATEPOST_HOME": "/x", "A": "b"}}
    (empty_cli.cwd / "a.json").write_text(json.dumps({"mcpServers": {"gatepost": entry}}))
    for host in ("gemini", "cursor"):
        words = ("--host", host, "--file", "a.json")
        empty_cli.run_ok("mcp", "install", *words)
        empty_cli.run_ok("mcp", "status", *words)
        written = read_servers(empty_cli.cwd / "a.json")["gatepost"]
        assert (written["command"], written["trust"], written["env"]["A"]) == (GATEPOST_PATH, True, "b")
        assert written["env"].get("GATEPOST_HOME") == (None if host == "gemini" else str(empty_cli.home))

    file = empty_cli.cwd / "config.toml"
    file.write_text(
        """\
[mcp_servers.gatepost]
command = "gatepost"
args = ["mcp", "--as", "ann"]
env_vars = ["GATEPOST_STORE"]
startup_timeout_sec = 20.5
enabled_tools = ["read_inbox"]
since = 2026-11-17

[mcp_servers.gatepost.env]
"A b" = "c\\u007f\\U0001F6AA"

[mcp_servers.gatepost.tools.drain_inbox]
approval_mode = "prompt"

[[mcp_servers.gatepost.rules]]
a = [{ b = 1 }, 2]

[other]
"""
    )
    before = tomllib.loads(file.read_text())["mcp_servers"]["gatepost"]
    empty_cli.run_ok("mcp", "install", "--host", "codex", "--file", "config.toml")
    variables = ["GATEPOST_HOME", "GATEPOST_AGENT", "GATEPOST_STORE"]
    assert read_servers(file)["gatepost"] == before | {"command": GATEPOST_PATH, "env_vars": variables}
    empty_cli.run_ok("mcp", "status", "--host", "codex", "--file", "config.toml")
    empty_cli.run_ok("mcp", "uninstall", "--host", "codex", "--file", "config.toml")
    assert tomllib.loads(file.read_text()) == {"other": {}}


@pytest.mark.parametrize("first", ["hooks", "mcp"])
@pytest.mark.parametrize(("host", "name"), [("gemini", "settings.json"), ("codex", "config.toml")])
def test_hooks_and_the_server_are_in_one_file_and_do_not_disturb_each_other(
    empty_cli: CommandLine, host: str, name: str, first: str
) -> None:
    file, before = empty_cli.cwd / name, SETTINGS_FILES[host, name].encode()
    words, second = ("--host", host, "--file", name), "mcp" if first == "hooks" else "hooks"
    file.write_bytes(before)
    empty_cli.run_ok(first, "install", *words)
    with_first = file.read_bytes()
    empty_cli.run_ok(second, "install", *words)
    for noun in (first, second):
        empty_cli.run_ok(noun, "status", *words)
        assert empty_cli.run_ok(noun, "install", *words).err.startswith(
            "the entries of Gatepost are installed already\n"
        )
    assert len(list_backups(file)) == 2
    empty_cli.run_ok(second, "uninstall", *words)
    assert file.read_bytes() == with_first
    assert empty_cli.run_ok(first, "uninstall", *words).err == "restored the backup\n"
    assert file.read_bytes() == before

    for noun in (first, second):
        empty_cli.run_ok(noun, "install", *words)
    for noun in (first, second):  # the other way round, no backup is of this content
        empty_cli.run_ok(noun, "uninstall", *words)
    assert file.read_bytes().removesuffix(b"\n") == before.removesuffix(b"\n"), "a last line has an end now"
    assert list_backups(file) == []


@pytest.mark.parametrize(
    ("host", "name", "raw", "message"),
    [
        ("claude", "a.json", b'{\n  "mcpServers": {,}\n}', "(line 2, column 18)"),
        ("claude", "a.json", b'{"a": "\xff"}', "it is not UTF-8 (line 1, column 8)"),
        ("claude", "a.json", b"[]", "the top level is not an object (line 1, column 1)"),
        ("claude", "a.json", b'{"mcpServers": null}', "`mcpServers` is not an object (line 1, column 16)"),
        ("claude", "a.json", b"// a\n{}", "Claude Code ignores a file with comments in it (line 1, column 1)"),
        ("claude-desktop", "a.json", b'{"a": 1,}', "Claude Desktop ignores a file with a comma before a closing"),
        (
            "cursor",
            "a.json",
            b'{"mcpServers": {"gatepost": {"url": "http://127.0.0.1/mcp"}}}',
            "it has another MCP server with the name 'gatepost' (line 1, column 29)",
        ),
        ("codex", "a.toml", b"model = \n", "(line 1, column 9)"),
        ("codex", "a.toml", b"mcp_servers = {}\n", "its MCP servers are written in line, so that none can be added"),
        (
            "codex",
            "a.toml",
            b'[mcp_servers]\ngatepost = { command = "gatepost", args = ["mcp"] }\n',
            "the MCP server of Gatepost is written in line with others",
        ),
        (
            "codex",
            "a.toml",
            b'[mcp_servers.gatepost]\nurl = "http://127.0.0.1/mcp"\n',
            "it has another MCP server with the name 'gatepost'",
        ),
    ],
)
def test_what_cannot_be_done_is_said_and_the_file_left_alone(
    empty_cli: CommandLine, host: str, name: str, raw: bytes, message: str
) -> None:
    file = empty_cli.cwd / name
    file.write_bytes(raw)
    refusal = empty_cli("mcp", "install", "--host", host, "--file", name)
    assert refusal.code == 2
    assert refusal.error.startswith(f"'{file}' was not changed: ")
    assert message in refusal.error
    assert "hint: " in refusal.err
    assert (file.read_bytes(), list_backups(file)) == (raw, [])


@pytest.mark.parametrize("command", ["install", "uninstall", "status"])
def test_a_pipe_is_not_read(empty_cli: CommandLine, command: str) -> None:
    os.mkfifo(empty_cli.cwd / "pipe.json")
    result = empty_cli("mcp", command, "--file", "pipe.json")
    assert "it is a pipe" in result.err


def test_a_protected_file_is_left_alone(empty_cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    file = empty_cli.cwd / "settings.json"
    file.write_text("{}")
    writable = os.access
    monkeypatch.setattr(
        os, "access", lambda path, *words, **options: path != file and writable(path, *words, **options)
    )
    result = empty_cli("mcp", "install", "--file", str(file))
    assert (result.code, result.err) == (3, f"error: '{file}' was not changed: it is write-protected\n")
    assert (file.read_text(), list_backups(file)) == ("{}", [])


@pytest.mark.parametrize("entry", [{"command": "sh", "args": ["gatepost", "mcp"]}, {"args": ["mcp"]}, {}, [], None, 1])
def test_a_server_of_that_name_that_is_not_ours_is_not_removed(empty_cli: CommandLine, entry: object) -> None:
    file = empty_cli.cwd / "a.json"
    file.write_text(json.dumps({"mcpServers": {"gatepost": entry}}))
    before = file.read_bytes()
    assert empty_cli.run_ok("mcp", "uninstall", "--file", "a.json").err == "the file has no entries of Gatepost\n"
    assert empty_cli("mcp", "install", "--file", "a.json").code == 2
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("words", "error", "hint"),
    [
        (("--host", "Cluade"), f"--host: 'Cluade' is not one of {', '.join(HOSTS)}", "did you mean 'claude'?"),
        (("--scope", "users"), "--scope: 'users' is not one of user, project", "did you mean 'user'?"),
        (
            ("--host", "claude-desktop", "--scope", "project"),
            "claude-desktop has no file for MCP servers of the scope 'project'",
            "use --scope user",
        ),
        (("--file", "x.toml"), "'x.toml' is TOML, and claude reads JSON", "give --host codex, or name another file"),
        (
            ("--host", "codex", "--file", "x.json"),
            "'x.json' is not TOML, and codex reads TOML",
            "name a file that ends with .toml",
        ),
    ],
)
def test_wrong_words(empty_cli: CommandLine, words: tuple[str, ...], error: str, hint: str) -> None:
    result = empty_cli("mcp", "install", *words)
    assert (result.code, result.error) == (2, error)
    assert f"hint: {hint}\n" in result.err
    assert list(empty_cli.cwd.iterdir()) == []


def test_without_the_package_nothing_is_installed(empty_cli: CommandLine) -> None:
    empty_cli.run_ok("mcp", "install", "--file", "there.json")
    empty_cli.monkeypatch.setattr("gatepost.mcp.commands.find_spec", lambda _: None)
    refusal = empty_cli("mcp", "install", "--file", "a.json")
    assert (refusal.code, refusal.error) == (3, "the MCP server needs the package mcp")
    assert "hint: pip install 'gatepost[mcp]'\n" in refusal.err
    assert not (empty_cli.cwd / "a.json").exists()
    empty_cli.run_ok("mcp", "uninstall", "--file", "there.json")
