"""The handlers of operations on residents that need a running gateway."""

from gatepost.api.access import Caller
from gatepost.api.agents import WakeAgent, WokenView
from gatepost.core.signals import Signal
from gatepost.gateway.office import Office
from gatepost.handlers.agents import find_agent


@WakeAgent.gateway_handler
async def wake_agent(state: Office, request: WakeAgent, caller: Caller) -> WokenView:
    agent = await state.store.read(find_agent, request.name)
    state.exchange.send([Signal(agent.name, "wake")])
    return WokenView(name=agent.name, woken=True)
