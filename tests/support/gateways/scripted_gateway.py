"""
A whole gateway, as a process of its own, whose residents think with a model that the test scripts: each resident's
model is named like itself, so a script can be given for each.
"""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx2

from tests.residents.model_server import Answer, CompletionRequest, ModelServer, Script
from tests.support.gateways.gateway_process import GatewayProcess, run_gateway_process
from tests.support.servers.private_servers import wait_until
from tests.support.waits import LAST_RESORT

Scripts = Mapping[str, Script]


class ScriptedGateway:
    """What a test does in it, through the doors that everybody has."""

    def __init__(self, gateway: GatewayProcess, server: ModelServer) -> None:
        self.gateway = gateway
        self.model_server = server
        self._client = httpx2.Client(
            base_url=gateway.url,
            headers={"x-secret-key": gateway.admin_key},
            timeout=LAST_RESORT,
            verify=False,  # there is no TLS
        )

    def close(self) -> None:
        self._client.close()

    def list_requests(self, name: str) -> list[CompletionRequest]:
        """What a resident's model was asked, in order."""
        return [request for request in self.model_server.requests if request.model == name]

    def get(self, path: str, **query: Any) -> Any:
        answer = self._client.get(f"/api{path}", params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, **body: Any) -> Any:
        answer = self._client.post(f"/api{path}", json=body)
        assert answer.status_code < 300, answer.text
        return answer.json()

    def put(self, path: str, **body: Any) -> Any:
        answer = self._client.put(f"/api{path}", json=body)
        assert answer.status_code < 300, answer.text
        return answer.json()

    def patch(self, path: str, **body: Any) -> Any:
        answer = self._client.patch(f"/api{path}", json=body)
        assert answer.status_code < 300, answer.text
        return answer.json()

    def delete(self, path: str) -> Any:
        answer = self._client.delete(f"/api{path}")
        assert answer.status_code < 300, answer.text
        return answer.json() if answer.content else None

    def create_resident(self, name: str, **config: Any) -> None:
        model = {"name": f"openai:{name}", "baseUrl": self.model_server.url}
        self.post("/agents", **{"name": name, "model": model, "instructions": f"You are {name}."} | config)

    def create_person(self, name: str) -> None:
        self.post("/entities", name=name, kind="human")

    def create_space(self, space_id: str, *members: str) -> None:
        self.post("/spaces", name=space_id, id=space_id, members=list(members))

    def post_message(self, space: str, text: str, sender: str) -> None:
        self.post(f"/spaces/{space}/messages", content=text, sender=sender)

    def list_messages(self, space: str) -> list[tuple[str, str]]:
        return [(message["sender"], message["content"]) for message in self.get(f"/spaces/{space}/messages")["items"]]

    def list_runs(self, name: str) -> list[dict[str, Any]]:
        """A resident's runs, oldest first."""
        runs: list[dict[str, Any]] = self.get(f"/agents/{name}/runs")["items"]
        return runs[::-1]

    def wait_for_run(self, name: str) -> dict[str, Any]:
        """A resident's first run, once it has begun."""
        wait_until(lambda: self.list_runs(name) != [], f"{name} has begun a run")
        return self.list_runs(name)[0]

    def wait_for_runs(self, name: str, count: int) -> list[dict[str, Any]]:
        """A resident's runs, once so many have ended and none is under way."""
        wait_until(lambda: _have_ended(self.list_runs(name), count), f"{name} has ended {count} runs")
        return self.list_runs(name)


def _have_ended(runs: list[dict[str, Any]], count: int) -> bool:
    return len(runs) >= count and all(run["status"] != "running" for run in runs)


@contextmanager
def run_scripted_gateway(home: Path, scripts: Scripts, **environ: str) -> Iterator[ScriptedGateway]:
    def script(request: CompletionRequest) -> Answer:
        return scripts[request.model](request)

    with (
        ModelServer(script) as server,
        run_gateway_process(home, **environ) as gateway,
        closing(ScriptedGateway(gateway, server)) as scripted_gateway,
    ):
        yield scripted_gateway
