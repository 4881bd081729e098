"""Every text that a request may carry in its path or its query, with what no database can store."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.gateways import gateway, operations
from tests.scenario.test_access import TABLE, World, furnished


def is_text(schema: dict[str, Any]) -> bool:
    """Tell whether a parameter takes text, by itself or among others."""
    kinds = [schema, *schema.get("anyOf", ()), schema.get("items", {})]
    return any(kind.get("type") == "string" for kind in kinds)


def parameters() -> Iterator[tuple[str, str, str]]:
    """Every such parameter: its operation, where it is, and its name."""
    for operation, described in operations().items():
        for each in described.get("parameters", ()):
            if each["in"] in ("path", "query") and is_text(each["schema"]):
                yield operation, each["in"], each["name"]


async def test_a_nul_is_refused_wherever_text_is_taken(tmp_path: Path) -> None:
    wrong: list[str] = []
    async with gateway(f"sqlite:///{tmp_path}/office.db") as made:
        world = World(made, furnished(made.store))
        async with made.client() as client:
            for operation, where, name in parameters():
                if operation == "POST /hooks/{trigger}":  # without a credential there is no such webhook
                    continue
                method, _, template = operation.partition(" ")
                things = {key: world.things.get(word, word) for key, word in TABLE[operation].path.items()}
                path = template.format(**things | ({name: "a%00b"} if where == "path" else {}))
                body = None
                if "requestBody" in operations()[operation]:
                    [content] = operations()[operation]["requestBody"]["content"].values()
                    body = content["example"]
                answer = await client.request(
                    method, f"{path}?{name}=a%00b" if where == "query" else path, json=body, timeout=10
                )
                if answer.status_code != 422:
                    wrong.append(f"{operation} {where} {name}: {answer.status_code} {answer.text[:100]}")
    assert not wrong, "\n".join(wrong)
    assert len(list(parameters())) > 50
