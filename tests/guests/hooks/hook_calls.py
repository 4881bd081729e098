"""Call `gatepost hook` as a host does."""

import json

from tests.support.command_line import CommandLine, CommandResult


def build_payload(**fields: str) -> bytes:
    return json.dumps({"session_id": "s-1", **fields}).encode()


def run_hook(cli: CommandLine, event: str, **environ: str) -> CommandResult:
    """Run a hook of the analyst's, which must not block anything by its exit code."""
    result = cli.run_process(
        "hook", event, stdin=build_payload(source="startup"), **{"GATEPOST_AGENT": "analyst", **environ}
    )
    assert result.code == 0, result
    return result
