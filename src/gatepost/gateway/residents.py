"""The handlers of operations on residents that need a running gateway."""

from gatepost.actions import runs
from gatepost.api.access import Caller
from gatepost.api.agents import WakeAgent, WokenView
from gatepost.api.runs import ReplayRun, ReplayView
from gatepost.core import agent_config
from gatepost.core.signals import Signal
from gatepost.gateway.state import GatewayState
from gatepost.handlers.agents import find_agent
from gatepost.runtime.replay import replay


@WakeAgent.gateway_handler
async def wake_agent(state: GatewayState, request: WakeAgent, caller: Caller) -> WokenView:
    agent = await state.store.read(find_agent, request.name)
    state.signal_bus.send([Signal(agent.name, "wake")])
    return WokenView(name=agent.name, woken=True)


@ReplayRun.gateway_handler
async def replay_run(state: GatewayState, request: ReplayRun, caller: Caller) -> ReplayView:
    model = await state.open_model(agent_config.parse({"model": request.model}).model)
    run = await state.store.read(runs.show, request.id)
    result = await replay(state.store, run.id, model)
    return ReplayView.of(run.id, model.name, steps=result.original, turns=result.turns, is_same=result.is_same)
