"""What a tool says to the model when it has failed, and how to read what one has said."""

import json
from typing import Any

from gatepost.core.mind import CallResult, ToolCall


def build_failure(call: ToolCall, error: str, hint: str | None = None) -> CallResult:
    document = {"success": False, "error": error} | ({"hint": hint} if hint else {})
    return CallResult(call.id, call.tool, json.dumps(document, ensure_ascii=False), ok=False)


def parse_success(result: CallResult) -> dict[str, Any]:
    """The fields of a result that is an object and no failure."""
    if not result.ok:
        return {}
    try:
        document = json.loads(result.content)
    except ValueError:
        return {}
    return document if isinstance(document, dict) and document.get("success") is not False else {}
