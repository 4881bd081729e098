"""`make up` installs less than `make test`: the packages of requirements/run.txt are all that a gateway needs."""

import json
import os
import re
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Final

import httpx2

from tests.support.waits import LAST_RESORT

LOCK: Final = Path(__file__).parents[2] / "requirements" / "run.txt"

#: Opens a model of each library and starts a gateway, without the modules that its first argument lists.
PROGRAM: Final = """
import json, sys
sys.modules.update(dict.fromkeys(json.loads(sys.argv.pop(1))))
from gatepost.residents.models.factory import open_model
from gatepost.residents.agent_config import ModelChoice
for name in ("openai:gpt-5", "anthropic:claude", "ollama:qwen3"):
    assert open_model(ModelChoice(name=name), {"OPENAI_API_KEY": "-", "ANTHROPIC_API_KEY": "-"}).name == name
from gatepost.cli.main import main
main()
"""
LIST_AGENTS: Final = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_agents"}}
HEADERS: Final = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25"}


def normalize(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def list_other_modules() -> list[str]:
    """Return the modules that no package of the lock has installed."""
    names = {normalize(name) for name in re.findall(r"^([\w.-]+)==", LOCK.read_text(), re.MULTILINE)} | {"gatepost"}
    return [
        module
        for module, distributions in packages_distributions().items()
        if not names.intersection(map(normalize, distributions))
    ]


def test_a_gateway_needs_no_other_package(tmp_path: Path) -> None:
    """It answers, serves MCP, and can use the models of every provider."""
    modules = list_other_modules()
    assert {"pytest", "psycopg", "redis", "nats", "hypothesis"} <= set(modules)
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GATEPOST_")}
    gateway = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, json.dumps(modules), "up", "--no-open", "--port", "0"],
        env=environ | {"GATEPOST_HOME": str(tmp_path / "home")},
        stdout=subprocess.PIPE,
        text=True,
    )
    with gateway:
        try:
            assert gateway.stdout is not None
            url = gateway.stdout.readline().strip()
            assert httpx2.get(f"{url}/health", timeout=LAST_RESORT).json()["ready"]
            key = (tmp_path / "home/admin.key").read_text().strip()
            headers = HEADERS | {"x-secret-key": key}
            answer = httpx2.post(f"{url}/mcp", json=LIST_AGENTS, headers=headers, timeout=LAST_RESORT)
            assert '"structuredContent":{"items":[]}' in answer.text
        finally:
            gateway.terminate()
