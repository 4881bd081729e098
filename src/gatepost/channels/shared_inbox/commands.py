"""`gatepost inbox shared`: what people write on channels, what systems ask them there, and what systems answer."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Final

import msgspec

from gatepost.channels.shared_inbox.api import EntryKind, ListSharedEntries, SharedEntryView, WatchSharedInbox
from gatepost.cli import output
from gatepost.cli.command import LimitOption
from gatepost.cli.gateway_or_store import connect
from gatepost.cli.parameters import JsonFlag, flag, option
from gatepost.core import times
from gatepost.core.quoting import quote, render_name
from gatepost.core.times import Instant
from gatepost.errors import Invalid
from gatepost.inbox.event import USER_CHANNELS
from gatepost.inbox.item_commands import inbox
from gatepost.settings import Configuration

_CHANNELS: Final = f"{', '.join(USER_CHANNELS[:-1])} or {USER_CHANNELS[-1]}"
_FIELDS: Final[dict[str, Any]] = {
    "channel": option("--channel", "CHANNEL", f"only this channel: {_CHANNELS}"),
    "session": option("--session", "ID", "only this channel session, such as cli-main"),
    "kind": option("--kind", "KIND", f"one of {', '.join(EntryKind)}", parse=EntryKind.parse, choices=list(EntryKind)),
    "pending": flag("--pending", "only questions that wait for an answer"),
    "newest": True,
    "after": None,
    "limit": None,
}


@inbox.request("shared", ListSharedEntries, **_FIELDS)
def shared(
    request: ListSharedEntries,
    configuration: Configuration,
    follow: Annotated[bool, flag("--follow", "print new entries as they come, until Ctrl-C")] = False,
    limit: LimitOption = 100,
    json: JsonFlag = False,
) -> None:
    """
    List the last entries of the shared inbox, the oldest first.

    It has what people write on channels, what systems ask them there, and what systems answer. With --follow, a
    question is printed again when it has ended.

    Examples:
      gatepost inbox shared --channel web --pending
      gatepost inbox shared --session cli-main --json
      gatepost inbox shared --follow --kind user_prompt
    """
    with connect(configuration) as connection:
        if follow:
            if request.pending:
                raise Invalid("--pending cannot be combined with --follow", hint="use --kind system_question")
            watch = WatchSharedInbox(channel=request.channel, session=request.session, kind=request.kind)
            notice = "watching the shared inbox; Ctrl-C stops it"
            for entry in connection.stream(watch, lambda: output.talk(notice)):
                output.live(msgspec.to_builtins(entry) if json else _render_line(entry))
            return
        now = connection.read_clock()
        entries = connection.send(msgspec.structs.replace(request, limit=min(limit, 1_000))).items
    output.listing(entries, limit, partial(_print_table, now=now), empty="no entries", json=json)


def _print_table(entries: Sequence[SharedEntryView], *, now: Instant) -> None:
    rows = [
        [
            entry.id,
            output.age(times.parse_instant(entry.created_at), now),
            entry.session_id,
            entry.kind.value,
            entry.status.value if entry.status is not None else "",
            _describe(entry),
        ]
        for entry in entries
    ]
    output.table(["ENTRY", "AGE", "SESSION", "KIND", "STATE", "WHAT"], rows)


def _render_line(entry: SharedEntryView) -> str:
    return f"{entry.session_id} {entry.kind}: {_describe(entry)}"


def _describe(entry: SharedEntryView) -> str:
    answer = f" -> {quote(entry.answer)}" if entry.answer is not None else ""
    return f"{render_name(entry.sender or entry.sender_name or '?')}: {quote(entry.content)}{answer}"
