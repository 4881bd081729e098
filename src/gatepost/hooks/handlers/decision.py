"""
15, the stop decision. Where `stop_decision.enabled` is set, an agent asks a person before it stops:

    nothing asked since it was last told to go on     it is told to ask
    asked, and not answered yet                       it waits, for as long as `stop_decision.wait` says
    "stop", or no answer                              it may stop
    any other answer                                  it goes on, and is told what was said
"""

from gatepost.errors import GatepostError
from gatepost.hooks.chain import Handler, Wait
from gatepost.hooks.context import HookContext
from gatepost.hooks.events import HookEvent, Verdict


def _handle(ctx: HookContext, _: HookEvent, result: Verdict) -> Verdict | Wait | None:
    if not ctx.options.stop_decision or ctx.agent is None or result.block is not None:
        return None
    if ctx.session.is_marked("decision"):
        return None
    from gatepost.hooks import asked

    try:
        return asked.check_stop(ctx, ctx.agent)
    except GatepostError:  # out of reach, which has been said
        return None


handler = Handler(name="stop decision", priority=15, events=frozenset({"Stop"}), handle=_handle)
