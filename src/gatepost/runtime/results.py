"""What a tool says to the model when it has failed, and how to read what one has said."""

import json
from typing import Any

from gatepost.core.mind import Call, Result


def failure(call: Call, error: str, hint: str | None = None) -> Result:
    said = {"success": False, "error": error} | ({"hint": hint} if hint else {})
    return Result(call.id, call.tool, json.dumps(said, ensure_ascii=False), ok=False)


def succeeded(result: Result) -> dict[str, Any]:
    """The fields of a result that is an object and no failure."""
    if not result.ok:
        return {}
    try:
        found = json.loads(result.content)
    except ValueError:
        return {}
    return found if isinstance(found, dict) and found.get("success") is not False else {}
