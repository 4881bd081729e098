"""
A whole gateway, as a process of its own, whose residents think with a model that the test scripts: each resident's
model is named like itself, so a script can be given for each.
"""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx2

from tests.models import Answer, Asked, ModelServer, Script
from tests.servers import until
from tests.uplinks import Running, running

Scripts = Mapping[str, Script]


class House:
    """What a test does in it, through the doors that everybody has."""

    def __init__(self, gateway: Running, server: ModelServer) -> None:
        self.gateway = gateway
        self.models = server
        self._client = httpx2.Client(base_url=gateway.url, headers={"x-secret-key": gateway.key}, timeout=30)

    def close(self) -> None:
        self._client.close()

    def asked(self, name: str) -> list[Asked]:
        """What a resident's model was asked, in order."""
        return [asked for asked in self.models.asked if asked.model == name]

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

    def resident(self, name: str, **config: Any) -> None:
        model = {"name": f"openai:{name}", "baseUrl": self.models.url}
        self.post("/agents", **{"name": name, "model": model, "instructions": f"You are {name}."} | config)

    def person(self, name: str) -> None:
        self.post("/entities", name=name, kind="human")

    def space(self, id: str, *members: str) -> None:
        self.post("/spaces", name=id, id=id, members=list(members))

    def say(self, space: str, text: str, by: str) -> None:
        self.post(f"/spaces/{space}/messages", content=text, sender=by)

    def said(self, space: str) -> list[tuple[str, str]]:
        return [(one["sender"], one["content"]) for one in self.get(f"/spaces/{space}/messages")["items"]]

    def runs(self, name: str) -> list[dict[str, Any]]:
        """A resident's runs, oldest first."""
        found: list[dict[str, Any]] = self.get(f"/agents/{name}/runs")["items"]
        return found[::-1]

    def ended(self, name: str, count: int) -> list[dict[str, Any]]:
        """A resident's runs, once so many have ended and none is under way."""
        until(lambda: _over(self.runs(name), count), f"{name} has ended {count} runs")
        return self.runs(name)


def _over(runs: list[dict[str, Any]], count: int) -> bool:
    return len(runs) >= count and all(run["status"] != "running" for run in runs)


@contextmanager
def living(home: Path, scripts: Scripts, **environ: str) -> Iterator[House]:
    def script(asked: Asked) -> Answer:
        return scripts[asked.model](asked)

    with (
        ModelServer(script) as server,
        running(home, **environ) as gateway,
        closing(House(gateway, server)) as house,
    ):
        yield house
