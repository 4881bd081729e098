"""
15, the stop decision. Where `stop_decision.enabled` is set, an agent asks a person before it stops:

    nothing asked since it was last told to go on     it is told to ask
    asked, and not answered yet                       it waits, for as long as `stop_decision.wait` says
    "stop", or no answer                              it may stop
    any other answer                                  it goes on, and is told what was said
"""

from gatepost.errors import GatepostError
from gatepost.hooks.chain import Handler, Wait
from gatepost.hooks.desk import Desk
from gatepost.hooks.occasion import Occasion, Verdict


def _handle(desk: Desk, _: Occasion, so_far: Verdict) -> Verdict | Wait | None:
    if not desk.rules.stop_decision or desk.agent is None or so_far.block is not None:
        return None
    if desk.session.marked("decision"):
        return None
    from gatepost.hooks import asked

    try:
        return asked.before_stop(desk, desk.agent)
    except GatepostError:  # out of reach, which has been said
        return None


handler = Handler(name="stop decision", priority=15, events=frozenset({"Stop"}), handle=_handle)
