"""Our MCP server in the real programs: they start it where it finds its home, and their models use it."""

import json
import os
import re
from itertools import count
from pathlib import Path

import pytest

from tests.programs.guest import GATEPOST, Guest
from tests.programs.model import DONE, Reply
from tests.programs.programs import ClaudeCode
from tests.programs.protocols import Call, Message, Request
from tests.support.gateways.gateway_process import run_gateway_process

PLUGINS = Path(__file__).parents[2] / "plugins"
#: stands for `gatepost`: notes how it is started, and what the server answers
RECORDER = """\
#!/bin/sh
printf '%s\\n' "$*" "$(pwd -P)" "$GATEPOST_HOME" "$GATEPOST_AGENT" > {start}
{gatepost} "$@" | tee {answers}
"""
#: what each program calls our tools
TOOLS = {"claude": "mcp__gatepost__{}", "codex": "{}", "gemini": "mcp_gatepost_{}"}


def test_the_program_starts_the_server_and_the_model_uses_it(guest: Guest, tmp_path: Path) -> None:
    program = guest.program
    read_inbox, send_message = (TOOLS[program.host].format(name) for name in ("read_inbox", "send_message"))
    start, answers, recorder = tmp_path / "start", tmp_path / "answers", tmp_path / "bin" / "gatepost"
    recorder.parent.mkdir()
    recorder.write_text(RECORDER.format(start=start, answers=answers, gatepost=GATEPOST))
    recorder.chmod(0o755)
    guest.run_gatepost("hooks", "uninstall", "--host", program.host)  # they would show the item too
    file = Path(guest.run_gatepost("mcp", "install", "--host", program.host, "--as", "ann"))
    entry, recorded_entry = f'"{GATEPOST}"', f'"{recorder}"'
    file.write_text(file.read_text().replace(entry, recorded_entry))
    guest.push("through the server")
    numbers = count()

    def script(request: Request) -> Reply:
        if "On my way" in request.text:
            return DONE
        if "through the server" in request.new_text:
            return Message(calls=[Call(send_message, {"to_agent": "husam", "subject": "Re", "payload": "On my way"})])
        if read_inbox in json.dumps(request.body):
            return Message(calls=[Call(read_inbox, {})])
        # a program asks its model before the server has named its tools
        return Message(commands=[f"until grep -q inputSchema {answers}; do sleep 0.1; done; echo {next(numbers)}"])

    guest.model.script = script
    guest.prompt()
    assert guest.model.count_shown("through the server") == 1
    if program.host != "claude":  # which shows its model the schema of a tool when it is asked for it
        assert "the text, or an object with more" in json.dumps(guest.model.exchanges[-1].request.body["tools"])
    [message] = json.loads(guest.run_gatepost("inbox", "list", "--to", "husam", "--json"))
    assert (message["sender"], message["type"], message["content"]) == ("ann", "mail", "On my way")
    arguments, folder, home, agent = start.read_text().splitlines()
    assert (arguments, folder) == ("mcp --as ann", str(program.project.resolve()))
    assert (home, agent) == (program.environ["GATEPOST_HOME"], program.environ["GATEPOST_AGENT"])

    file.write_text(file.read_text().replace(recorded_entry, entry))
    if program.host == "gemini":  # its list gives a server five seconds to start, and this machine may be busy
        document = json.loads(file.read_text())
        document["mcpServers"]["gatepost"]["timeout"] = 60_000
        file.write_text(json.dumps(document))
    states = json.loads(guest.run_gatepost("mcp", "status", "--host", program.host, "--json"))
    assert "installed" in [state["state"] for state in states]
    assert re.search(
        rf"gatepost.* {re.escape(str(GATEPOST))} .*(Connected|enabled)", program.run_command("mcp", "list")
    )
    guest.run_gatepost("mcp", "uninstall", "--host", program.host)
    assert str(GATEPOST) not in program.run_command("mcp", "list")


def test_the_model_uses_the_server_of_a_gateway_over_http(guest: Guest) -> None:
    program, tool = guest.program, TOOLS[guest.program.host].format("send_message")
    guest.run_gatepost("hooks", "uninstall", "--host", program.host)
    numbers = count()

    def script(request: Request) -> Reply:
        if "On my way" in request.text:
            return DONE
        if tool in json.dumps(request.body):
            return Message(calls=[Call(tool, {"to_agent": "husam", "payload": "On my way"})])
        return Message(commands=[f"{GATEPOST} agent list; echo {next(numbers)}"])  # the server is not connected yet

    guest.model.script = script
    with run_gateway_process(guest.home) as gateway:
        url, key = f"{gateway.url}/mcp", guest.run_gatepost("key", "create", "--agent", "ann")
        program.environ["GATEPOST_KEY"] = key
        header = ["--transport", "http", "--scope", "user", "--header", f"Authorization: Bearer {key}"]
        options = {
            "claude": ["gatepost", url, *header],
            "codex": ["gatepost", "--url", url, "--bearer-token-env-var", "GATEPOST_KEY"],
            "gemini": ["gatepost", url, *header],
        }
        program.run_command("mcp", "add", *options[program.host])
        guest.prompt()
        [message] = json.loads(guest.run_gatepost("inbox", "list", "--to", "husam", "--json"))
    assert (message["sender"], message["type"], message["content"]) == ("ann", "mail", "On my way")


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
    assert re.search("plugin:gatepost:gatepost: gatepost mcp - .*Connected", program.run_command("mcp", "list"))
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
