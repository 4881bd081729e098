"""
14, the loop detector. If three stops of an agent are blocked within two minutes, the agent makes no progress: it runs
in a loop. Then no handler blocks this stop, its person sees a warning, and its owner gets an alert. The stops of each
subagent are counted separately.
"""

from typing import Final

from gatepost.core.times import SECOND
from gatepost.errors import GatepostError, quote_value
from gatepost.guests.hooks.hook_context import HookContext
from gatepost.guests.hooks.hook_events import HookEvent, Verdict

#: blocked stops within the window after which nothing blocks any more
MAX_BLOCKED_STOPS: Final = 3
#: how long a blocked stop counts
LOOP_WINDOW: Final = 120 * SECOND


def detect_loop(ctx: HookContext, event: HookEvent, _: Verdict) -> Verdict | None:
    if event.name == "SubagentStop":
        subagent = event.subagent or ""
        stops = tuple(stopped_at for id, stopped_at in ctx.state.helper_stops if id == subagent)
        subject, reason = (
            "helper",
            f"the last {MAX_BLOCKED_STOPS} stops of its helper {quote_value(subagent)} were blocked",
        )
    else:
        stops, subject, reason = ctx.state.stops, "agent", f"its last {MAX_BLOCKED_STOPS} stops were blocked"
    if sum(stopped_at > ctx.started_at - LOOP_WINDOW for stopped_at in stops) < MAX_BLOCKED_STOPS:
        return None
    if ctx.agent is not None:
        from gatepost.guests import session_actions as sessions

        try:
            ctx.run_sync(sessions.alert_owner, ctx.session.id, ctx.agent, reason)
        except GatepostError as error:
            ctx.add_note(f"its owner could not be told of the loop: {error.message}")
    warning = (
        f"Gatepost lets the {subject} stop: its last {MAX_BLOCKED_STOPS} stops were blocked, so its gates may be shut."
    )
    return Verdict(final=True, warnings=(warning,))
