"""What the dialects share: how a field of a payload is read, whatever it holds, and how an answer is written."""

import json
from collections.abc import Collection, Mapping
from typing import Any, Final

from gatepost.hooks.occasion import Answer, Verdict

#: UTF-8 bytes of a string that hosts show; what is longer they put into a file, or cut. Some count UTF-16 units, which
#: are never more.
ROOM: Final = 10_000
_CUT: Final = "\n... (cut here; {} bytes in all)"


def fields(payload: object) -> Mapping[str, Any]:
    """The payload, if it is an object at all."""
    return payload if isinstance(payload, dict) else {}


def text(payload: Mapping[str, Any], *names: str) -> str | None:
    """The first of these fields that is a string with something in it, fit to be written anywhere."""
    for name in names:
        value = payload.get(name)
        if isinstance(value, str) and value:
            return value.encode(errors="replace").decode()
    return None


def mapping(payload: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return fields(payload.get(name))


def known(event: str, names: Mapping[str, str]) -> str:
    """Our name of an event, which may be given by the host's name or by ours, in any case; another stays as it is."""
    ours = {theirs.lower(): name for theirs, name in names.items()} | {name.lower(): name for name in names.values()}
    return ours.get(event.lower(), event)


def reply(fields: Mapping[str, Any]) -> Answer:
    """An answer in JSON, without those fields that are empty; with none at all, silence."""
    given = {name: fitted(value) for name, value in fields.items() if value not in (None, "", {})}
    return Answer(stdout=json.dumps(given)) if given else Answer()


def fitted(value: Any) -> Any:
    """Whatever is too long for a host, cut, and saying so."""
    if isinstance(value, dict):
        return {name: fitted(each) for name, each in value.items()}
    return fit(value) if isinstance(value, str) else value


def fit(value: str, limit: int = ROOM) -> str:
    """Return the text if it has at most `limit` bytes, else its beginning and how long it is."""
    if len(value) * 4 <= limit or (size := len(value.encode(errors="replace"))) <= limit:
        return value
    from gatepost.core.text import truncate  # most texts are short

    return truncate(value, limit, _CUT.format(size))


def blocked(event: str, why: str, blockable: Collection[str]) -> dict[str, Any]:
    """How Claude Code says, and Codex after it, that something may not be done; nothing where it cannot be said."""
    if event in blockable:
        return {"decision": "block", "reason": why}
    deny = {"hookEventName": event, "permissionDecision": "deny", "permissionDecisionReason": why}
    return {"hookSpecificOutput": deny} if event == "PreToolUse" else {}


def shown(event: str, text: str) -> dict[str, Any]:
    """How most hosts are told what to show the model, on an event by its own name."""
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def told(answer: dict[str, Any], verdict: Verdict, *, read: bool) -> Answer:
    """What the host is told, and beside it what is for the person; on stderr, if the host does not `read` JSON here."""
    beside = aside(verdict, said=bool(answer))
    return reply(answer | {"systemMessage": beside}) if read else spoken(beside)


def aside(verdict: Verdict, *, said: bool) -> str:
    """All that is for the person, a sentence a line: what had no place in what is `said` to the host, and warnings."""
    unsaid = () if said else (verdict.block, verdict.context)
    return "\n".join(each for each in (*unsaid, *verdict.warnings) if each)


def spoken(sentences: str) -> Answer:
    """For events on which a host reads no JSON: what there is to say goes to stderr."""
    return Answer(stderr=f"{sentences}\n" if sentences else "")
