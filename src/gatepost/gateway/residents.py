"""The handlers of operations on residents that need a running gateway."""

from gatepost.api.access import Caller
from gatepost.api.runs import ReplayRun, ReplayView
from gatepost.gateway.state import GatewayState
from gatepost.runtime import replay


@ReplayRun.gateway_handler
async def replay_run(state: GatewayState, request: ReplayRun, caller: Caller) -> ReplayView:
    return await replay.answer_request(state.store, request, state.open_model)
