"""
What a short command imports. It starts, asks and ends, so nearly all of its time is that of its imports: what is not
named here takes longer than what the command does.
"""

import json
import os
import subprocess
import sys

import pytest

from tests.support.command_line import ACCESS_MODES, CommandLine

#: our own modules that every short command may import
COMMON_MODULES = {
    *("gatepost", "gatepost.errors", "gatepost.paths", "gatepost.telemetry"),
    *("gatepost.cli", "gatepost.cli.command", "gatepost.cli.current_agent", "gatepost.cli.gateway_or_store"),
    *("gatepost.cli.inputs", "gatepost.cli.main", "gatepost.cli.output", "gatepost.cli.parameters"),
    *("gatepost.cli.root", "gatepost.client", "gatepost.client.request_retries"),
    *("gatepost.core", "gatepost.core.address", "gatepost.core.backoff", "gatepost.core.escaping"),
    *("gatepost.core.ids", "gatepost.core.json_limits", "gatepost.core.light_json"),
    *("gatepost.core.policy", "gatepost.core.ports"),
    *("gatepost.core.signals", "gatepost.core.text", "gatepost.core.times", "gatepost.core.typed_json"),
    *("gatepost.directory", "gatepost.directory.attention", "gatepost.directory.entity"),
    *("gatepost.directory.entity_api", "gatepost.reactions"),
    *("gatepost.guests", "gatepost.guests.hooks", "gatepost.guests.hooks.host_process"),
    *("gatepost.guests.hooks.session_state", "gatepost.guests.session"),
    *("gatepost.operations", "gatepost.operations.access", "gatepost.operations.decoding"),
    *("gatepost.operations.discovery", "gatepost.operations.encoding", "gatepost.operations.fields"),
    *("gatepost.operations.operation", "gatepost.operations.synonyms", "gatepost.operations.tool"),
    *("gatepost.operations.validation",),
    *("gatepost.settings", "gatepost.settings.converters", "gatepost.settings.fields_and_defaults"),
    *("gatepost.settings.gateway_files", "gatepost.settings.loading"),
}
#: beside them, those that work on the store, and those that send to a gateway
ACCESS_MODULES = {
    "alone": {
        *("gatepost.app", "gatepost.client.local_client", "gatepost.executor"),
        *("gatepost.core.dry_run", "gatepost.core.similar_names"),
        *("gatepost.directory.authorization_actions", "gatepost.directory.entity_actions"),
        *("gatepost.directory.entity_rows", "gatepost.guests.ports"),
        *("gatepost.jobs", "gatepost.jobs.idempotency_actions", "gatepost.operations.pagination"),
        *(
            "gatepost.stores",
            "gatepost.stores.call_queues",
            "gatepost.stores.clock",
            "gatepost.stores.group_commit",
            "gatepost.stores.row_mapping",
        ),
        *(
            "gatepost.stores.disk_space",
            "gatepost.stores.schema_versions",
            "gatepost.stores.sqlite",
            "gatepost.stores.statements",
        ),
        *("gatepost.stores.threaded_store", "gatepost.transports"),
    },
    "through a gateway": {"gatepost.client.sync_client", "gatepost.client.plain_http", "gatepost.directory.key"},
}
#: our own modules that a command may import besides
COMMAND_MODULES: dict[tuple[str, ...], set[str]] = {
    ("person", "list"): {
        *("gatepost.directory.person_commands", "gatepost.directory.entity_handlers"),
        *("gatepost.directory.attention_actions", "gatepost.directory.key"),
    },
    ("agent", "list"): {
        *("gatepost.directory.attention_actions", "gatepost.directory.key"),
        *("gatepost.channels", "gatepost.channels.skills", "gatepost.directory.entity_handlers"),
        *("gatepost.directory.person_commands", "gatepost.guests.reachability", "gatepost.guests.session_actions"),
        *("gatepost.operations.lenient_arguments", "gatepost.operations.operation_tool", "gatepost.reactions"),
        *("gatepost.residents", "gatepost.residents.agent_actions", "gatepost.residents.agent_api"),
        *("gatepost.residents.agent_commands", "gatepost.residents.agent_config"),
        *("gatepost.residents.agent_config_json", "gatepost.residents.agent_handlers"),
        *("gatepost.residents.capability", "gatepost.residents.model_api"),
    },
}
#: modules of others that take long to import, and that such a command does without
HEAVY_MODULES = {
    *("asyncio", "concurrent.futures", "difflib", "email", "http.client", "importlib.metadata", "logging"),
    *("multiprocessing", "pkgutil", "random", "selectors", "shutil", "socket", "ssl", "subprocess", "tomllib"),
    *("httpx2", "psycopg", "pydantic", "rich", "structlog"),
}
SCRIPT = """
import json, os, sys
from gatepost.cli.main import run
code = run(json.loads(os.environ["WORDS"]))
sys.stderr.write(json.dumps(sorted(sys.modules)))
sys.exit(code)
"""


def list_imports(cli: CommandLine, *words: str) -> set[str]:
    """The modules that a process has after a command."""
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        env=os.environ | cli.environ | {"WORDS": json.dumps(words)},
        cwd=cli.cwd,
        check=True,
    )
    return set(json.loads(result.stderr.splitlines()[-1]))


@pytest.mark.parametrize("words", COMMAND_MODULES, ids=" ".join)
@pytest.mark.parametrize("cli", ACCESS_MODES, indirect=True)
def test_a_short_command_imports_what_it_runs(
    cli: CommandLine, words: tuple[str, ...], request: pytest.FixtureRequest
) -> None:
    imported = list_imports(cli, *words)
    own_modules = {name for name in imported if name.partition(".")[0] == "gatepost"}
    access = request.node.callspec.params["cli"]
    assert own_modules - COMMON_MODULES - ACCESS_MODULES[access] - COMMAND_MODULES[words] == set()
    assert imported & HEAVY_MODULES == set()
