"""
14, the loop detector. An agent that is told three times within two minutes that it may not stop, and does not get
anywhere, goes round in circles. Then everything lets it go, its person is told, and so is its owner.
"""

from typing import Final

from gatepost.errors import GatepostError
from gatepost.hooks.chain import Handler
from gatepost.hooks.desk import Desk
from gatepost.hooks.occasion import Occasion, Verdict
from gatepost.hooks.visit import WINDOW

#: blocked stops within the window after which nothing blocks any more
BLOCKS: Final = 3


def _handle(desk: Desk, _: Occasion, __: Verdict) -> Verdict | None:
    if sum(at > desk.began - WINDOW for at in desk.state.stops) < BLOCKS:
        return None
    if desk.agent is not None:
        from gatepost.actions import sessions

        try:
            desk.call(sessions.alert, desk.session.id, desk.agent, f"its last {BLOCKS} stops were blocked")
        except GatepostError as error:
            desk.tell(f"its owner could not be told of the loop: {error.message}")
    return Verdict(
        final=True,
        warnings=(f"Gatepost lets the agent stop: its last {BLOCKS} stops were blocked, so its gates may be shut.",),
    )


handler = Handler(name="loop detector", priority=14, events=frozenset({"Stop"}), handle=_handle)
