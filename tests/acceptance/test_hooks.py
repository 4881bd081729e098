"""`gatepost hooks`, on files as they are found in the world."""

import json
import os
import re
import shlex
import stat
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

from gatepost.hooks import gates, host_settings
from gatepost.hooks.gates import SessionGate
from gatepost.hooks.wire import HOSTS
from tests.acceptance.office import Office

ROOT = Path(__file__).parents[2]
PROGRAM = str(Path(sys.executable).parent / "gatepost")
BACKUP = re.compile(r"what it was before is in (\S+\.gatepost-[0-9a-f]{16}\.bak)\n")

#: what people have, by host and file name
FOUND = {
    ("gemini", "commented.json"): """{
  // mine, do not touch
  "model": "opus",
  "permissions": { "allow": ["Bash(git:*)", "Read"], },   /* trailing comma */
  "hooks": {
    "Stop": [
      { "hooks": [ { "type": "command", "command": "afplay /done.aiff" } ] }
    ],
    "PreToolUse": [{"matcher":"Bash","hooks":[{"type":"command","command":"guard.sh","timeout":5}]}]
  }
}
""",
    ("claude", "tabs.json"): '\ufeff{\r\n\t"hooks": {\r\n\t\t"Stop": []\r\n\t},\r\n\t"a": 1\r\n}',
    ("claude", "one-line.json"): '{"model":"opus","hooks":{"Stop":[{"hooks":[{"type":"command","command":"x"}]}]}}',
    ("claude", "older.json"): """{
    "hooks": {
        "Stop": [
            {"hooks": [
                {"type": "command", "command": "lint.sh"},
                {"type": "command", "command": "/old/gatepost hook Stop", "timeout": 60}
            ]},
            {"hooks": [{"type": "command", "command": "gatepost hook Stop"}]}
        ]
    }
}
""",
    ("claude", "empty.json"): "",
    ("claude", "braces.json"): "{}\n",
    (
        "gemini",
        "settings.json",
    ): '{"theme": "Dracula" // dark\n, "hooks": {"AfterTool": [{"matcher": "*", "hooks": []}]}}',
    ("cursor", "hooks.json"): '{"version": 1, "hooks": {"stop": [{"command": "notify.sh", "loop_limit": null}]}}\n',
    ("codex", "hooks.json"): '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}\n',
    ("codex", "config.toml"): '''model = "gpt"
notes = """
[[hooks.Stop]]
"""

[[hooks.Stop]] # mine
[[hooks.Stop.hooks]]
type = "command"
command = "true"

# the servers
[mcp_servers.docs]
command = "docs"''',
}


def saved(file: Path) -> list[str]:
    return [each.name for each in file.parent.iterdir() if each != file]


def hooked(file: Path) -> dict[str, list[str]]:
    """The commands of each event, as any reader of the file has them."""
    if file.suffix == ".toml":
        document = tomllib.loads(file.read_text())
    else:
        text = re.sub(r"/\*.*?\*/|// [^\n\r]*", "", file.read_text(encoding="utf-8-sig"))
        document = json.loads(re.sub(r",(\s*[}\]])", r"\1", text))
    return {
        event: [each["command"] for group in groups for each in group.get("hooks", [group])]
        for event, groups in document["hooks"].items()
    }


@pytest.mark.parametrize(("host", "name"), FOUND)
def test_in_and_out_again(gatepost: Office, host: str, name: str) -> None:
    file = gatepost.here / name
    file.write_bytes(FOUND[host, name].encode())
    file.chmod(0o640)
    words = ("--host", host, "--file", name)
    ours = {event: f"{shlex.quote(PROGRAM)} hook {event}" for event in host_settings.build_entries(host, PROGRAM)}
    said = "" if host == "claude" else f" --host {host}"

    put_in = gatepost.done("hooks", "install", *words)
    assert put_in.out == f"{file}\n"
    kept = BACKUP.search(put_in.err)
    assert kept is not None, put_in.err
    assert saved(file) == [kept[1]]
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    for event, command in ours.items():
        assert hooked(file)[event].count(command + said) == 1
        assert hooked(file)[event][-1] == command + said
    assert "/old/gatepost" not in file.read_text()
    once = file.read_bytes()
    assert gatepost.done("hooks", "install", *words).err.startswith("our entries are there already\n")
    assert file.read_bytes() == once
    [state] = gatepost.done("hooks", "status", *words, "--json").json
    assert (state["state"], sorted(state["events"]), state["why"]) == ("installed", sorted(ours), None)

    out_again = gatepost.done("hooks", "uninstall", *words)
    assert saved(file) == []
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    if name != "older.json":  # there were some of ours before, and those are gone too
        assert out_again.err == "it is again what it was before\n"
        assert file.read_bytes() == FOUND[host, name].encode()
    assert "gatepost" not in file.read_text()
    assert gatepost.done("hooks", "uninstall", *words).err == "there is nothing of ours in it\n"
    assert gatepost("hooks", "status", *words).code == 1


def test_it_is_written_in_the_manner_of_the_file(gatepost: Office) -> None:
    file = gatepost.here / "settings.json"
    file.write_bytes(FOUND["claude", "tabs.json"].encode())
    gatepost.done("hooks", "install", "--file", "settings.json")
    lines = file.read_bytes().split(b"\n")
    assert all(line.endswith(b"\r") for line in lines[:-1])
    assert not any(line.startswith(b" ") for line in lines)
    assert b'\t\t\t\t"hooks": [\r' in lines
    file.write_text('{"model":"opus","hooks":{"Stop":[1]}}')
    gatepost.done("hooks", "install", "--file", "settings.json")
    assert len(file.read_text().splitlines()) == 1, "what was on one line stays on one line"


@pytest.mark.parametrize(("host", "name"), FOUND)
def test_out_of_a_file_that_somebody_changed(gatepost: Office, host: str, name: str) -> None:
    file = gatepost.here / name
    file.write_bytes(FOUND[host, name].encode())
    words = ("--host", host, "--file", name)
    gatepost.done("hooks", "install", *words)
    file.write_bytes(
        file.read_bytes() + b"\n# mine\n" if file.suffix == ".toml" else file.read_bytes() + b"\n// mine\n"
    )
    assert gatepost.done("hooks", "uninstall", *words).err == "our entries are taken out\n"
    left = file.read_text()
    assert "gatepost" not in left
    assert "// mine" in left or "# mine" in left
    for kept in ("do not touch", "trailing comma", "guard.sh", "afplay", "lint.sh", "notify.sh", "# the servers"):
        assert (kept in FOUND[host, name]) == (kept in left)
    assert saved(file) == []


@pytest.mark.parametrize("host", HOSTS)
def test_where_there_was_no_file_there_is_none_again(gatepost: Office, tmp_path: Path, host: str) -> None:
    gatepost.environ |= {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": "", "CODEX_HOME": ""}
    made = gatepost.done("hooks", "install", "--host", host)
    file = Path(made.out.strip())
    assert file.is_relative_to(tmp_path / f".{host}")
    assert made.err.splitlines()[0] == "made a new file"
    assert len(hooked(file)) == len(host_settings.build_entries(host, PROGRAM))
    assert ("version" in json.loads(file.read_text())) == (host == "cursor")
    [user, *_] = gatepost.done("hooks", "status", "--host", host, "--json").json
    assert (user["scope"], user["state"], user["file"]) == ("user", "installed", str(file))
    gone = gatepost.done("hooks", "uninstall", "--host", host)
    assert gone.err == "it had nothing but our entries in it, and is gone\n"
    assert list(file.parent.iterdir()) == []


def test_what_was_there_last_counts(gatepost: Office) -> None:
    """A file that was there, then was not, then was: uninstalling gives back what the last install found."""
    file = gatepost.here / "a.json"
    file.write_text("{}\n")
    for there in (True, False, True):
        if there:
            file.write_text("{}\n")
        else:
            file.unlink()
        gatepost.done("hooks", "install", "--file", "a.json")
        assert len(saved(file)) == 1
    file.unlink()
    gatepost.done("hooks", "install", "--file", "a.json")
    gatepost.done("hooks", "uninstall", "--file", "a.json")
    assert list(gatepost.here.iterdir()) == []


@pytest.mark.parametrize(
    ("before", "left"),
    [
        ('{"hooks": {"Stop": [], "PreToolUse": []}}', {"Stop": [], "PreToolUse": []}),
        ('{"hooks": {}}', {}),
        ('{"model": "opus"}', None),
        (None, None),
    ],
)
def test_what_was_empty_before_is_so_again_and_what_was_not_there_is_gone(
    gatepost: Office, before: str | None, left: dict[str, Any] | None
) -> None:
    file = gatepost.here / "a.json"
    if before is not None:
        file.write_text(before)
    for _ in range(2):  # also after it was put in again
        gatepost.done("hooks", "install", "--file", "a.json")
        file.write_text(json.dumps(json.loads(file.read_text()) | {"theirs": 1}).replace("hook Stop", "hook  Stop"))
    gatepost.done("hooks", "uninstall", "--file", "a.json")
    assert json.loads(file.read_text()).get("hooks") == left
    assert saved(file) == []


def test_what_may_have_been_empty_before_is_left(gatepost: Office) -> None:
    file = gatepost.here / "a.json"
    file.write_text('{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "gatepost hook Stop"}]}]}}')
    gatepost.done("hooks", "uninstall", "--file", "a.json")
    assert json.loads(file.read_text()) == {"hooks": {"Stop": []}}


def test_scopes_and_the_folders_that_variables_name(gatepost: Office, tmp_path: Path) -> None:
    def file(*words: str, **environ: str) -> str:
        gatepost.environ |= environ
        return gatepost.done("hooks", "install", *words).out.strip()

    own = str(tmp_path / "own")
    gatepost.environ["HOME"] = str(tmp_path)
    assert file(CLAUDE_CONFIG_DIR=own) == f"{own}/settings.json"
    assert file("--scope", "project") == f"{gatepost.here}/.claude/settings.json"
    assert file("--scope", "local") == f"{gatepost.here}/.claude/settings.local.json"
    assert file("--host", "codex", CODEX_HOME=own) == f"{own}/hooks.json"
    assert file("--host", "gemini", "--scope", "project") == f"{gatepost.here}/.gemini/settings.json"
    states = gatepost.done("hooks", "status", "--json").json
    there = {(each["host"], each["scope"]) for each in states if each["state"] == "installed"}
    assert there == {
        *(("claude", each) for each in ("user", "project", "local")),
        ("codex", "user"),
        ("gemini", "project"),
    }
    assert {each["state"] for each in states} == {"installed", "missing"}


def test_at_home_a_file_is_listed_once(gatepost: Office) -> None:
    gatepost.environ["HOME"] = str(gatepost.here)
    gatepost.done("hooks", "install", "--host", "gemini")
    [state] = gatepost.done("hooks", "status", "--host", "gemini", "--json").json
    assert (state["scope"], state["state"]) == ("user", "installed")


def test_where_gates_were_registered_hooks_are_installed_too(gatepost: Office) -> None:
    gatepost.home.mkdir(mode=0o700)
    gates.register(gatepost.home, SessionGate(name="careful", hook="PreToolUse"))
    extra = {"claude": "PreToolUse", "codex": "PreToolUse", "gemini": "BeforeTool", "cursor": "preToolUse"}
    for host, event in extra.items():
        file = gatepost.here / f"{host}.json"
        gatepost.done("hooks", "install", "--host", host, "--file", str(file))
        assert hooked(file).keys() == host_settings.build_entries(host, PROGRAM).keys() | {event}
        gatepost.done("hooks", "status", "--host", host, "--file", str(file))
    gates.unregister(gatepost.home, "careful")
    assert gatepost("hooks", "status", "--host", "claude", "--file", "claude.json").code == 1
    gatepost.done("hooks", "install", "--file", "claude.json")
    assert hooked(gatepost.here / "claude.json").keys() == host_settings.build_entries("claude", PROGRAM).keys()


def test_codex_has_hooks_in_one_of_two_files(gatepost: Office) -> None:
    folder = gatepost.here / ".codex"
    folder.mkdir()
    words = ("--host", "codex", "--scope", "project")
    (folder / "config.toml").write_text('model = "gpt"\n\n[hooks.state]\n"a:b" = { enabled = true }\n')
    assert gatepost.done("hooks", "install", *words).out == f"{folder}/hooks.json\n", "there are no hooks in the other"
    gatepost.done("hooks", "uninstall", *words)
    (folder / "config.toml").write_text('[[hooks.Stop]]\nhooks = [{ type = "command", command = "true" }]\n')
    assert gatepost.done("hooks", "install", *words).out == f"{folder}/config.toml\n"
    (folder / "hooks.json").write_text("{}")
    assert gatepost.done("hooks", "install", *words).out == f"{folder}/config.toml\n", "they are there already"


def test_at_the_end_of_a_link(gatepost: Office, tmp_path: Path) -> None:
    """Whoever keeps their settings elsewhere still has a link, and a file there."""
    dotfiles = tmp_path / "dotfiles"
    dotfiles.mkdir()
    (dotfiles / "claude.json").write_text('{"model": "opus"}')
    link = gatepost.here / "settings.json"
    link.symlink_to(dotfiles / "claude.json")
    gatepost.done("hooks", "install", "--file", "settings.json")
    assert link.is_symlink()
    assert PROGRAM in (dotfiles / "claude.json").read_text()
    gatepost.done("hooks", "uninstall", "--file", "settings.json")
    assert link.is_symlink()
    assert (dotfiles / "claude.json").read_text() == '{"model": "opus"}'
    (dotfiles / "claude.json").unlink()
    gatepost.done("hooks", "install", "--file", "settings.json")
    assert link.is_symlink()
    assert hooked(dotfiles / "claude.json")


@pytest.mark.parametrize(
    ("host", "name", "raw", "said"),
    [
        ("claude", "a.json", b'{\n  "hooks": {,}\n}', "(line 2, column 13)"),
        ("claude", "a.json", b'{"a": "\xff"}', "it is not UTF-8 (line 1, column 8)"),
        ("claude", "a.json", b'{"hooks": null}', "`hooks` is not an object (line 1, column 11)"),
        ("codex", "a.toml", b"model = \n", "(line 1, column 9)"),
        ("codex", "a.toml", b"model = '", "(line 1, column 10)"),
        ("codex", "a.toml", b"hooks = {}\n", "its hooks are written in line"),
        ("codex", "a.toml", b"[hooks]\nStop = []\n", "its hooks are written in line"),
    ],
)
def test_what_cannot_be_read_is_left_alone(gatepost: Office, host: str, name: str, raw: bytes, said: str) -> None:
    file = gatepost.here / name
    file.write_bytes(raw)
    refused = gatepost("hooks", "install", "--host", host, "--file", name)
    assert refused.code == 2
    assert refused.error.startswith(f"'{file}' is left as it is: ")
    assert said in refused.error
    assert file.read_bytes() == raw
    assert saved(file) == []
    if "written" not in said and "not an" not in said:
        [state] = gatepost("hooks", "status", "--host", host, "--file", name, "--json").json
        assert (state["state"], said in state["why"]) == ("unreadable", True)


def test_an_entry_in_line_with_others_is_not_torn_out(gatepost: Office) -> None:
    file = gatepost.here / "config.toml"
    raw = '[hooks]\nStop = [{ hooks = [{ command = "true" }, { command = "gatepost hook Stop" }] }]\n'
    file.write_text(raw)
    refused = gatepost("hooks", "uninstall", "--host", "codex", "--file", "config.toml")
    assert (refused.code, file.read_text()) == (2, raw)
    assert "written in line with others" in refused.error


def test_what_is_not_as_it_should_be_is_said(gatepost: Office) -> None:
    file = gatepost.here / "settings.json"
    entry = {"type": "command", "command": "/gone/gatepost hook Stop", "timeout": 600}
    file.write_text(json.dumps({"hooks": {"Stop": [{"hooks": [entry]}]}}))
    status = gatepost("hooks", "status", "--host", "claude", "--file", "settings.json")
    assert (status.code, status.err) == (1, f"{file}: there is no program '/gone/gatepost'\n")
    file.write_text(json.dumps({"hooks": {"Stop": [{"hooks": [entry | {"command": f"{PROGRAM} hook Stop"}]}]}}))
    assert (
        "not as `hooks install` would write"
        in gatepost("hooks", "status", "--host", "claude", "--file", "settings.json").err
    )


@pytest.mark.parametrize(
    ("words", "error", "hint"),
    [
        (
            ("install", "--host", "emacs"),
            "'emacs' is not a host known here",
            "use one of claude, codex, gemini, cursor",
        ),
        (("install", "--scope", "moon"), "'moon' is not a scope", "use one of user, project, local"),
        (("install", "--host", "codex", "--scope", "local"), "codex has no local settings", "use --scope user"),
        (("install", "--file", "x.toml"), "'x.toml' is TOML, and claude reads JSON", "give --host codex"),
    ],
)
def test_wrong_words(gatepost: Office, words: tuple[str, ...], error: str, hint: str) -> None:
    ended = gatepost("hooks", *words)
    assert (ended.code, ended.error) == (2, error)
    assert f"hint: {hint}" in ended.err
    assert list(gatepost.here.iterdir()) == []


def test_what_cannot_be_written_is_said_and_left_alone(gatepost: Office) -> None:
    (gatepost.here / "settings.json").mkdir()
    ended = gatepost("hooks", "install", "--file", "settings.json")
    assert (ended.code, ended.error) == (3, f"'{gatepost.here}/settings.json': Is a directory")
    (gatepost.here / "file").touch()
    ended = gatepost("hooks", "install", "--file", "file/settings.json")
    assert (ended.code, ended.error) == (3, f"'{gatepost.here}/file/settings.json': Not a directory")


def test_the_disk_is_full_half_way(gatepost: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    file = gatepost.here / "settings.json"
    file.write_text("{}")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    ended = gatepost("hooks", "install", "--file", "settings.json")
    assert (ended.code, "No space left" in ended.error) == (3, True)
    assert (file.read_text(), saved(file)) == ("{}", [])


def test_the_plugin_says_what_would_be_installed() -> None:
    plugin = ROOT / "plugins" / "claude-code"
    hooks = json.loads((plugin / "hooks" / "hooks.json").read_text())
    assert hooks["hooks"] == {
        event: [group] for event, group in host_settings.build_entries("claude", "gatepost").items()
    }
    manifest = json.loads((plugin / ".claude-plugin" / "plugin.json").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert {name: manifest[name] for name in ("name", "version", "description", "license")} == {
        name: project["project"][name] for name in ("name", "version", "description", "license")
    }
    [listed] = json.loads((ROOT / "plugins" / ".claude-plugin" / "marketplace.json").read_text())["plugins"]
    assert (ROOT / "plugins" / listed["source"]).samefile(plugin)
    assert listed["description"] == manifest["description"]


def test_the_plugin_is_shipped(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=120)
    [wheel], [sdist] = tmp_path.glob("*.whl"), tmp_path.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive, tarfile.open(sdist) as source:
        shipped, sources = archive.namelist(), source.getnames()
    files = [each for each in (ROOT / "plugins").rglob("*") if each.is_file()]
    assert len(files) == 4
    for file in map(str, (each.relative_to(ROOT) for each in files)):
        assert any(each.endswith(f".data/data/share/gatepost/{file}") for each in shipped)
        assert any(each.endswith(f"/{file}") for each in sources)
