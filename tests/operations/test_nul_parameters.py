"""Every text that a request may carry in its path or its query, with what no database can store."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.operations.access_cases import CALL_CASES, World, create_owned_objects
from tests.support.gateways.local_gateways import list_operations, open_gateway
from tests.support.waits import LAST_RESORT


def is_text(schema: dict[str, Any]) -> bool:
    """Tell whether a parameter takes text, by itself or among others."""
    kinds = [schema, *schema.get("anyOf", ()), schema.get("items", {})]
    return any(kind.get("type") == "string" for kind in kinds)


def list_text_parameters() -> Iterator[tuple[str, str, str]]:
    """Every such parameter: its operation, where it is, and its name."""
    for operation, description in list_operations().items():
        for parameter in description.get("parameters", ()):
            if parameter["in"] in ("path", "query") and is_text(parameter["schema"]):
                yield operation, parameter["in"], parameter["name"]


async def test_a_nul_is_refused_wherever_text_is_taken(tmp_path: Path) -> None:
    wrong: list[str] = []
    async with open_gateway(f"sqlite:///{tmp_path}/office.db") as gateway:
        world = World(gateway, create_owned_objects(gateway.store))
        async with gateway.open_client() as client:
            for operation, location, name in list_text_parameters():
                # without a credential there is no such webhook
                if operation in ("POST /hooks/{trigger}", "POST /channels/telegram/{bot}"):
                    continue
                method, _, template = operation.partition(" ")
                path_values = {key: world.values.get(word, word) for key, word in CALL_CASES[operation].path.items()}
                path = template.format(**path_values | ({name: "a%00b"} if location == "path" else {}))
                body = None
                if "requestBody" in list_operations()[operation]:
                    [content] = list_operations()[operation]["requestBody"]["content"].values()
                    body = content["example"]
                answer = await client.request(
                    method, f"{path}?{name}=a%00b" if location == "query" else path, json=body, timeout=LAST_RESORT
                )
                if answer.status_code != 422:
                    wrong.append(f"{operation} {location} {name}: {answer.status_code} {answer.text[:100]}")
    assert not wrong, "\n".join(wrong)
    assert len(list(list_text_parameters())) > 50
