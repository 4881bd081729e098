"""The tools as models see them: their names, descriptions and schemas, at each door."""

import json
from collections.abc import Iterator
from typing import Any

from gatepost.mcp.lenient_arguments import load_tools
from gatepost.residents.background import tool_arguments
from gatepost.residents.tools import BUILT_IN_TOOLS


async def list_tools() -> str:
    """Return the names of all tools in their order, and a section for each."""
    orders = {"resident": BUILT_IN_TOOLS, "mcp": load_tools()}
    lines = [f"{door}: {' '.join(names)}\n" for door, names in orders.items()]
    return "\n".join([*lines, *sorted(_list_resident_tools()), *sorted(_list_mcp_tools())])


def _list_resident_tools() -> Iterator[str]:
    for name, tool in BUILT_IN_TOOLS.items():
        spec = tool_arguments.build_spec(name, tool.function)
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
