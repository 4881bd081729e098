"""The tools as models see them: their names, descriptions and schemas, at each door."""

import json
from collections.abc import Iterator
from typing import Any

from gatepost.operations.operation_tool import load_tools
from gatepost.residents.agent_config_json import SKILLS
from gatepost.residents.background.toolkit import build_built_in_tools
from gatepost.residents.tools import load_tools as load_resident_tools


async def list_tools() -> str:
    """Return the names of all tools in their order, and a section for each."""
    orders = {"resident": load_resident_tools(), "mcp": load_tools()}
    lines = [f"{door}: {' '.join(names)}\n" for door, names in orders.items()]
    return "\n".join([*lines, *sorted(_list_resident_tools()), *sorted(_list_mcp_tools())])


def _list_resident_tools() -> Iterator[str]:
    for name, tool in load_resident_tools().items():
        spec = build_built_in_tools(frozenset(SKILLS))[name].spec
        heading = f"resident {name}" + (f" (skill {tool.skill})" if tool.skill else "")
        yield _render(heading, spec.description, {"takes": spec.schema})


def _list_mcp_tools() -> Iterator[str]:
    for tool in load_tools().values():
        yield _render(f"mcp {tool.name}", tool.description, {"takes": tool.input_schema, "gives": tool.output_schema})


def _render(heading: str, description: str, schemas: dict[str, Any]) -> str:
    lines = [heading, f"  {' '.join(description.split())}"]
    for word, schema in schemas.items():
        lines.append(f"  {word} {json.dumps({key: value for key, value in schema.items() if key != 'properties'})}")
        lines += [
            f"    {name}: {json.dumps(value, sort_keys=True)}" for name, value in schema.get("properties", {}).items()
        ]
    return "\n".join(lines) + "\n"
