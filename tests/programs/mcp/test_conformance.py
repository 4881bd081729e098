"""The conformance suite of MCP against our server; `conformance.toml` lists what it should find over HTTP, and why."""

import asyncio
import json
import tomllib
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.mcp.mcp_setup import McpSetup
from tests.programs import cache
from tests.programs.mcp.key_proxy import KeyProxy
from tests.programs.mcp.stdio_bridge import StdioBridge
from tests.support.waits import LAST_RESORT

EXPECTED: Final[Mapping[str, Any]] = tomllib.loads(Path(__file__).with_name("conformance.toml").read_text())

#: scenario -> check -> its status
Statuses = Mapping[str, Mapping[str, str]]


async def run_suite(url: str, folder: Path, *scenarios: str) -> None:
    """Run scenarios; the results go to the folder."""
    node = cache.find_node()
    assert node is not None
    script = cache.find_folder() / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
    options = ["--url", f"{url}/mcp", *scenarios, "--output-dir", str(folder)]
    process = await asyncio.create_subprocess_exec(node, script, "server", *options, stdout=asyncio.subprocess.DEVNULL)
    try:
        async with asyncio.timeout(LAST_RESORT):
            await process.wait()
    finally:
        if process.returncode is None:
            process.kill()


def read_statuses(folder: Path) -> Statuses:
    statuses: dict[str, dict[str, str]] = defaultdict(dict)
    for file in folder.glob("server-*/checks.json"):
        scenario = file.parent.name.removeprefix("server-")[: -len("-2026-01-01T00-00-00-000Z")]
        for check in json.loads(file.read_text()):
            statuses[scenario][check["id"]] = check["status"]
    return statuses


def classify(statuses: Statuses, expected: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what the suite has found in the form of the list, with the reasons of the list."""
    found: dict[str, Any] = {"passes": [], "partly": {}, "needs": {}, "empty": {}}
    for scenario, checks in sorted(statuses.items()):
        bad = [id for id, status in checks.items() if status in {"FAILURE", "WARNING"}]
        has_failed, has_passed = "FAILURE" in checks.values(), "SUCCESS" in checks.values()
        if scenario in expected.get("partly", {}) and has_failed and has_passed:
            reasons = expected["partly"][scenario]
            found["partly"][scenario] = {id: reasons.get(id, "NEW") for id in bad}
        elif has_failed:
            found["needs"][scenario] = expected["needs"].get(scenario, f"NEW: {', '.join(bad)}")
        elif bad or not has_passed or scenario in expected["empty"]:
            found["empty"][scenario] = expected["empty"].get(scenario, f"NEW: {', '.join(bad)}")
        else:
            found["passes"].append(scenario)
    return {kind: value for kind, value in found.items() if value}


@pytest.mark.parametrize("revision", EXPECTED)
async def test_the_suite_finds_what_the_list_says(setup: McpSetup, revision: str, tmp_path: Path) -> None:
    key = setup.gateway_thread.gateway.create_key("agent", "analyst")
    async with KeyProxy(setup.gateway_thread.base_url, key) as proxy:
        await run_suite(proxy.url, tmp_path / "results", "--requirements", revision)
    assert classify(read_statuses(tmp_path / "results"), EXPECTED[revision]) == EXPECTED[revision]


@pytest.mark.parametrize("scenario", ["server-initialize", "ping", "resources-subscribe", "resources-unsubscribe"])
async def test_the_older_revision_passes_on_stdio(setup: McpSetup, scenario: str, tmp_path: Path) -> None:
    """Subscriptions of this revision are on stdio only, where the suite has no client: there is a bridge between."""
    names = {"test://watched-resource": "inbox://analyst"}
    async with StdioBridge(setup.build_command("--as", "analyst"), names) as bridge:
        options = ["--scenario", scenario, "--spec-version", "2025-11-25"]
        await run_suite(bridge.url, tmp_path / "results", *options)
    checks = read_statuses(tmp_path / "results")[scenario]
    assert "SUCCESS" in checks.values()
    assert set(checks.values()) <= {"SUCCESS", "INFO"}
