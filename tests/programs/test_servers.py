"""Our MCP server in the real programs: they find it in their settings, and start it where it finds its home."""

import json
import os
import re
from pathlib import Path

import pytest

from tests.programs.guest import GATEPOST, Guest
from tests.programs.programs import ClaudeCode

PLUGINS = Path(__file__).parents[2] / "plugins"
#: stands for `gatepost`, and notes the folder and the variables with which it is started
RECORDER = """\
#!/bin/sh
printf '%s\\n' "$*" "$(pwd -P)" "$GATEPOST_HOME" "$GATEPOST_AGENT" > {record}
exec {gatepost} "$@"
"""


def test_the_program_starts_the_server_in_the_project_with_the_home_of_the_session(
    guest: Guest, tmp_path: Path
) -> None:
    program, record, recorder = guest.program, tmp_path / "record", tmp_path / "bin" / "gatepost"
    recorder.parent.mkdir()
    recorder.write_text(RECORDER.format(record=record, gatepost=GATEPOST))
    recorder.chmod(0o755)
    file = Path(guest.run_gatepost("mcp", "install", "--host", program.host, "--as", "ann"))
    entry, recorded_entry = f'"{GATEPOST}"', f'"{recorder}"'
    file.write_text(file.read_text().replace(entry, recorded_entry))
    guest.prompt()
    arguments, folder, home, agent = record.read_text().splitlines()
    assert (arguments, folder) == ("mcp --as ann", str(program.project.resolve()))
    assert (home, agent) == (program.environ["GATEPOST_HOME"], program.environ["GATEPOST_AGENT"])
    file.write_text(file.read_text().replace(recorded_entry, entry))

    assert "gatepost" in program.run_command("mcp", "list")
    states = json.loads(guest.run_gatepost("mcp", "status", "--host", program.host, "--json"))
    assert "installed" in [state["state"] for state in states]
    guest.run_gatepost("mcp", "uninstall", "--host", program.host)
    assert str(GATEPOST) not in program.run_command("mcp", "list")


@pytest.mark.parametrize("guest", [ClaudeCode], indirect=True)
def test_claude_code_asks_before_it_starts_the_server_of_a_project(guest: Guest) -> None:
    guest.run_gatepost("mcp", "install", "--file", str(guest.program.project / ".mcp.json"))
    assert re.search(
        rf"gatepost: {re.escape(str(GATEPOST))} mcp - .*Pending approval", guest.program.run_command("mcp", "list")
    )


@pytest.mark.parametrize("guest", [ClaudeCode], indirect=True)
def test_the_plugin_brings_the_hooks_the_server_and_the_commands(guest: Guest) -> None:
    program = guest.program
    assert isinstance(program, ClaudeCode)
    guest.run_gatepost("hooks", "uninstall")
    program.plugin = PLUGINS / "claude-code"
    program.environ["PATH"] = os.pathsep.join([str(GATEPOST.parent), program.environ["PATH"]])
    assert "plugin:gatepost:gatepost: gatepost mcp - " in program.run_command("mcp", "list")
    guest.push("through the hooks")
    guest.prompt()
    assert guest.model.count_shown("through the hooks") == 1
    guest.prompt("/gatepost:inbox and be brief", resume=True)
    shown_text = guest.model.exchanges[-1].shown_text
    assert "through the hooks" in shown_text, "the items of the last day"
    assert "and be brief" in shown_text
    guest.prompt("/gatepost:ask Ship it?", resume=True)
    assert "which may be empty: Ship it?" in guest.model.exchanges[-1].shown_text


@pytest.mark.parametrize("guest", [ClaudeCode], indirect=True)
def test_claude_code_finds_nothing_wrong_with_the_plugin(guest: Guest) -> None:
    for folder in (PLUGINS, PLUGINS / "claude-code"):
        assert "Validation passed" in guest.program.run_command("plugin", "validate", "--strict", str(folder))
