"""What is seen on Telegram while a resident thinks: a reaction on the message, and that somebody types."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path

import pytest

from gatepost.channels.telegram.background.typing_indicator import SEEN
from gatepost.channels.triggers.trigger import GroupMode
from gatepost.core.signals import Frame, Topic
from gatepost.residents import agent_actions as agents
from gatepost.residents.agent_config import AgentConfig
from gatepost.residents.background.think_cycle import think
from gatepost.residents.model_port import ChatRequest, ModelOutput
from gatepost.residents.runs import resume_actions as run_resume
from tests.channels.telegram.bot_api.server import TelegramServer
from tests.channels.telegram.bot_api.state import User
from tests.channels.telegram.channel_setup import AGENT, ChannelSetup, open_channel_setup
from tests.faults.cycle_process import build_deps
from tests.residents.scripted_agent import CallbackModel, reply_done


class PatientModel(CallbackModel):
    """A model that replies when the test lets it."""

    def __init__(self) -> None:
        super().__init__(reply_done)
        self.released = asyncio.Event()

    async def respond(self, request: ChatRequest) -> AsyncGenerator[ModelOutput]:
        await self.released.wait()
        async for part in super().respond(request):
            yield part


@pytest.fixture
async def setup(tmp_path: Path) -> AsyncIterator[ChannelSetup]:
    with TelegramServer(has_limits=False) as server:
        url = f"sqlite:///{tmp_path}/gatepost.db"
        async with open_channel_setup(server, url, allow=(7,), groups=GroupMode.ALL) as setup:
            yield setup


@pytest.fixture
def ana(setup: ChannelSetup) -> User:
    return setup.telegram.add_user(7, "Ana")


async def test_it_is_seen_while_the_model_thinks_and_ends_with_the_cycle(setup: ChannelSetup, ana: User) -> None:
    server, model = setup.telegram, PatientModel()
    await setup.store.run(agents.make_resident, AGENT, AgentConfig())
    message = server.send_text(ana, "hello")
    await setup.wait_for_events(1)
    run_state = await setup.store.run(run_resume.take_run, AGENT, "tests")
    assert run_state is not None
    cycle = asyncio.create_task(think(build_deps(setup.store, model, setup.bus.send), run_state))

    await server.wait_until(lambda: server.reactions.get((7, message.id)) == [SEEN] and server.actions)
    assert (server.actions[0].chat, server.actions[0].action) == (7, "typing")
    model.released.set()
    await cycle
    await server.wait_until(lambda: server.reactions.get((7, message.id)) == [])


async def test_it_is_seen_in_the_topic(setup: ChannelSetup, ana: User) -> None:
    server = setup.telegram
    forum = server.add_supergroup("Forum", ana, is_forum=True)
    topic = server.add_topic(forum, "Sales", ana)
    server.send_text(ana, "numbers?", forum, thread=topic)
    await setup.wait_for_events(1)
    setup.bus.send([Frame(Topic("agent", AGENT), "agent.active", {})])
    await server.wait_until(lambda: server.actions)

    assert (server.actions[0].chat, server.actions[0].thread) == (forum.id, topic)


async def test_a_failure_of_it_is_ignored(setup: ChannelSetup, ana: User) -> None:
    server = setup.telegram
    server.answer("setMessageReaction", 100, status=400, description="Bad Request: REACTION_INVALID")
    server.answer("sendChatAction", 100, status=429, description="Too Many Requests", retry_after=60)
    server.send_text(ana, "hello")
    [event] = await setup.wait_for_events(1)
    setup.bus.send([Frame(Topic("agent", AGENT), "agent.active", {})])
    await server.wait_until(lambda: server.requests["sendChatAction"])
    setup.bus.send([Frame(Topic("agent", AGENT), "agent.inactive", {})])
    setup.reply(event, "here I am")

    [answer] = await setup.wait_for_sent(ana, 1)
    assert answer.text == "here I am"


async def test_what_comes_while_the_agent_thinks_is_seen_when_it_thinks_again(setup: ChannelSetup, ana: User) -> None:
    server = setup.telegram
    first = server.send_text(ana, "one")
    await setup.wait_for_events(1)
    setup.bus.send([Frame(Topic("agent", AGENT), "agent.active", {})])
    await server.wait_until(lambda: server.reactions.get((7, first.id)) == [SEEN])
    second = server.send_text(ana, "two")
    await setup.wait_for_events(2)
    setup.bus.send([Frame(Topic("agent", AGENT), "agent.active", {})])
    setup.bus.send([Frame(Topic("agent", AGENT), "agent.inactive", {})])
    await server.wait_until(lambda: server.reactions.get((7, first.id)) == [])
    assert (7, second.id) not in server.reactions
    setup.bus.send([Frame(Topic("agent", AGENT), "agent.active", {})])

    await server.wait_until(lambda: server.reactions.get((7, second.id)) == [SEEN])
