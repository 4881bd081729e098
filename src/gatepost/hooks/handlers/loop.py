"""
14, the loop detector. An agent that is told three times within two minutes that it may not stop, and does not get
anywhere, goes round in circles. Then everything lets it go, its person is told, and so is its owner. The stops of each
helper inside the session are counted apart.
"""

from typing import Final

from gatepost.errors import GatepostError
from gatepost.hooks.chain import STOPS, Handler
from gatepost.hooks.desk import Desk
from gatepost.hooks.occasion import Occasion, Verdict
from gatepost.hooks.visit import WINDOW

#: blocked stops within the window after which nothing blocks any more
BLOCKS: Final = 3


def _handle(desk: Desk, occasion: Occasion, _: Verdict) -> Verdict | None:
    if occasion.event == "SubagentStop":
        helper = occasion.subagent or ""
        stops = tuple(at for id, at in desk.state.helper_stops if id == helper)
        who, what = "helper", f"the last {BLOCKS} stops of its helper {helper[:80]!r} were blocked"
    else:
        stops, who, what = desk.state.stops, "agent", f"its last {BLOCKS} stops were blocked"
    if sum(at > desk.began - WINDOW for at in stops) < BLOCKS:
        return None
    if desk.agent is not None:
        from gatepost.actions import sessions

        try:
            desk.call(sessions.alert, desk.session.id, desk.agent, what)
        except GatepostError as error:
            desk.tell(f"its owner could not be told of the loop: {error.message}")
    warning = f"Gatepost lets the {who} stop: its last {BLOCKS} stops were blocked, so its gates may be shut."
    return Verdict(final=True, warnings=(warning,))


handler = Handler(name="loop detector", priority=14, events=STOPS, handle=_handle)
