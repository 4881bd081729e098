"""What the dialects share: how a field of a payload is read, whatever it holds, and how an answer is written."""

import json
from collections.abc import Collection, Mapping
from typing import Any, Final

from gatepost.hooks.events import HookOutput, Verdict

#: UTF-8 bytes of a string that hosts show; what is longer they put into a file, or cut. Some count UTF-16 units, which
#: are never more.
MAX_TEXT_BYTES: Final = 10_000
_CUT_NOTE: Final = "\n... (cut here; {} bytes in all)"


def as_object(payload: object) -> Mapping[str, Any]:
    """The payload, if it is an object at all."""
    return payload if isinstance(payload, dict) else {}


def read_text(payload: Mapping[str, Any], *names: str) -> str | None:
    """The first of these fields that is a string with something in it, fit to be written anywhere."""
    for name in names:
        value = payload.get(name)
        if isinstance(value, str) and value:
            return value.encode(errors="replace").decode()
    return None


def read_object(payload: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return as_object(payload.get(name))


def normalize_event_name(event_name: str, names: Mapping[str, str]) -> str:
    """Our name of an event, which may be given by the host's name or by ours, in any case; another stays as it is."""
    our_names = {host_name.lower(): name for host_name, name in names.items()} | {
        name.lower(): name for name in names.values()
    }
    return our_names.get(event_name.lower(), event_name)


def build_output(fields: Mapping[str, Any]) -> HookOutput:
    """An answer in JSON, without those fields that are empty; with none at all, silence."""
    filled_fields = {name: truncate_values(value) for name, value in fields.items() if value not in (None, "", {})}
    return HookOutput(stdout=json.dumps(filled_fields)) if filled_fields else HookOutput()


def truncate_values(value: Any) -> Any:
    """Whatever is too long for a host, cut, and saying so."""
    if isinstance(value, dict):
        return {name: truncate_values(item) for name, item in value.items()}
    return truncate_text(value) if isinstance(value, str) else value


def truncate_text(value: str, limit: int = MAX_TEXT_BYTES) -> str:
    """Return the text if it has at most `limit` bytes, else its beginning and how long it is."""
    if len(value) * 4 <= limit or (size := len(value.encode(errors="replace"))) <= limit:
        return value
    from gatepost.core.text import truncate  # most texts are short

    return truncate(value, limit, _CUT_NOTE.format(size))


def build_block(event_name: str, reason: str, blockable: Collection[str]) -> dict[str, Any]:
    """How Claude Code says, and Codex after it, that something may not be done; nothing where it cannot be said."""
    if event_name in blockable:
        return {"decision": "block", "reason": reason}
    deny = {"hookEventName": event_name, "permissionDecision": "deny", "permissionDecisionReason": reason}
    return {"hookSpecificOutput": deny} if event_name == "PreToolUse" else {}


def build_context(event_name: str, text: str) -> dict[str, Any]:
    """How most hosts are told what to show the model, on an event by its own name."""
    return {"hookSpecificOutput": {"hookEventName": event_name, "additionalContext": text}}


def build_host_output(fields: dict[str, Any], verdict: Verdict, *, reads_json: bool) -> HookOutput:
    """What the host is told, and beside it what is for the person; on stderr, if the host does not `read` JSON here."""
    person_text = build_person_text(verdict, has_answer=bool(fields))
    return build_output(fields | {"systemMessage": person_text}) if reads_json else build_stderr_output(person_text)


def build_person_text(verdict: Verdict, *, has_answer: bool) -> str:
    """All that is for the person, a sentence a line: what had no place in what is `said` to the host, and warnings."""
    unsaid_texts = () if has_answer else (verdict.block, verdict.context)
    return "\n".join(item for item in (*unsaid_texts, *verdict.warnings) if item)


def build_stderr_output(sentences: str) -> HookOutput:
    """For events on which a host reads no JSON: what there is to say goes to stderr."""
    return HookOutput(stderr=f"{sentences}\n" if sentences else "")
