"""People who chat with agents: over HTTP, with residents that answer, and many of them at once."""

import asyncio
import random
from collections.abc import AsyncIterator
from typing import Any, Final

import pytest

from gatepost import Gatepost
from gatepost.channels import chat_handlers as chat, reply_actions as replies
from gatepost.channels.chat_api import SendChat
from gatepost.channels.conversation import is_user_prompt, parse_base
from gatepost.channels.routing import unrouted_message_actions as unrouted_messages
from gatepost.channels.shared_inbox import actions as shared_inbox
from gatepost.channels.shared_inbox.api import EntryKind, SharedEntry
from gatepost.core.ports import Store
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.gates.decision import Option, Question
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import Answered, EventType, Route
from gatepost.residents import agent_actions as agents, agent_config_json as agent_config, reply_reminder
from gatepost.residents.agent_config import USER_AGENT, AgentConfig, ModelChoice
from gatepost.residents.background.function_agent import AgentContext, EventBatch, run_user_agent
from gatepost.residents.model_port import ChatRequest, ModelReply, Prompt
from gatepost.residents.runs import actions as runs
from gatepost.residents.runs.resume_actions import take_run
from gatepost.residents.runs.run import RunStatus
from gatepost.testing import Kit
from tests.faults.cycle_process import build_deps
from tests.residents.scripted_agent import CallbackModel, ScriptedAgent, build_call, build_final_reply, reply_done
from tests.support.gateways.local_gateways import Gateway, StreamFrame

POSTGRES_BY_NIGHT = True

PEOPLE: Final = ("admin", "main", "husam", "husam_x", "husam-x", "eve")
SESSIONS: Final = (None, "x", "travel", "reset-1", "husam", "x-travel", "main", "admin", "a.b")


def send(store: Store, content: str, person: str = "husam", **fields: Any) -> tuple[str, list[str]]:
    """Write as a person; return the session, and the events."""
    session, received = store.run_sync(chat.send, SendChat(content=content, **fields), sender=person)
    return session, list(received.events)


def read(store: Store, **filters: Any) -> list[SharedEntry]:
    return store.read_sync(shared_inbox.list_page, limit=10_000, **filters)


async def read_entry(frames: AsyncIterator[StreamFrame]) -> StreamFrame:
    """The next entry of a stream."""
    async for frame in frames:
        if frame.event == "shared.entry":
            return frame
    raise AssertionError("the stream has ended")


class TestStreams:
    async def test_a_question_comes_again_when_it_has_ended(self, gateway: Gateway) -> None:
        _, [event] = send(gateway.store, "Ship?", to="analyst")
        path = "/api/shared-inbox/stream?kind=system_question"
        async with await gateway.open_stream(path) as stream:
            frames = aiter(stream)
            await anext(frames)
            options = (Option(id="yes", label="Yes"),)
            for text in ("Today?", "Really?"):
                question = Question(question=text, options=options)
                gateway.store.run_sync(replies.ask_decision, question, event, by="analyst")
            asked = [await read_entry(frames) for _ in range(2)]
            assert [(frame.data["content"], frame.data["status"]) for frame in asked] == [
                ("Today?", "pending"),
                ("Really?", "pending"),
            ]
            send(gateway.store, "yes")
            answered = await read_entry(frames)
        assert (answered.data["id"], answered.data["seq"]) == (asked[0].data["id"], asked[0].data["seq"])
        assert (answered.data["status"], answered.data["answer"]) == ("answered", "Yes")
        for last_id, contents in ((asked[0].id, ["Really?", "Today?"]), (asked[1].id, ["Today?"]), ("0", None)):
            async with await gateway.open_stream(path, last_event_id=last_id) as stream:
                frames = aiter(stream)
                for content in contents or ["Really?", "Today?"]:
                    assert (await read_entry(frames)).data["content"] == content
        send(gateway.store, "yes")
        async with await gateway.open_stream(path, last_event_id=answered.id) as stream:
            frame = await read_entry(aiter(stream))
            assert (frame.data["content"], frame.data["status"]) == ("Really?", "answered")

    async def test_lists_stay_in_the_order_of_the_questions(self, gateway: Gateway) -> None:
        _, [event] = send(gateway.store, "Ship?", to="analyst")
        question = Question(question="Today?", options=(Option(id="yes", label="Yes"),))
        gateway.store.run_sync(replies.ask_decision, question, event, by="analyst")
        send(gateway.store, "wait a moment", to="analyst")
        send(gateway.store, "yes")

        assert [entry.content for entry in read(gateway.store)] == ["Ship?", "Today?", "wait a moment"]


class TestRoutes:
    async def test_a_person_and_an_agent_talk(self, gateway: Gateway) -> None:
        husam_key, analyst_key = gateway.create_key(entity="husam"), gateway.create_key(entity="analyst")
        async with gateway.open_client(x_secret_key=husam_key) as husam:
            async with gateway.open_client(x_secret_key=analyst_key) as analyst:
                sent = (await husam.post("/api/chat", json={"content": "Ship?", "to": "analyst"})).json()
                assert sent.keys() == {"sessionId", "entryId", "events"}
                question = {
                    "question": "Today?",
                    "options": [{"id": "yes", "label": "Yes, today"}],
                    "event": sent["events"][0],
                }
                decision = (await analyst.post("/api/decisions", json=question)).json()
                assert decision["asked"] == ["husam"]
                answer = (await husam.post("/api/chat", json={"content": "yes, today"})).json()
                assert (answer["decision"], answer["notice"]) == (decision["id"], "Noted: Yes, today")
                [event] = answer["events"]
                assert (await analyst.get("/api/inbox/analyst?text=today")).json()["items"][-1]["eventId"] == event
                replied = await analyst.post(f"/api/events/{sent['events'][0]}/reply", json={"text": "Shipped"})
                assert (replied.status_code, replied.json()["kind"]) == (201, "channel")
            entries = (await husam.get("/api/shared-inbox")).json()["items"]
        assert [(entry["kind"], entry["content"], entry["answer"]) for entry in entries] == [
            ("user_prompt", "Ship?", None),
            ("system_question", "Today?", "Yes, today"),
            ("system_response", "Shipped", None),
        ]
        assert {entry["sessionId"] for entry in entries} == {"cli-husam"}
        assert entries[1]["askedBy"] == "analyst"

    async def test_only_the_person_itself_writes_and_reads(self, gateway: Gateway) -> None:
        gateway.store.run_sync(directory.register, EntitySpec(name="eve", kind=EntityKind.HUMAN))
        send(gateway.store, "secret", to="analyst")
        async with gateway.open_client(x_secret_key=gateway.create_key(entity="eve")) as eve:
            forged = await eve.post("/api/chat", json={"content": "x", "to": "analyst", "sender": "husam"})
            assert forged.status_code == 403
            for query in ("", "?session=cli-husam", "?newest=true", "?channel=cli"):
                assert (await eve.get(f"/api/shared-inbox{query}")).json()["items"] == []
        async with gateway.open_client(x_secret_key=gateway.create_key(entity="analyst")) as analyst:
            assert (await analyst.get("/api/shared-inbox")).json()["items"] == []
            assert (await analyst.post("/api/chat", json={"content": "x", "to": "analyst"})).status_code == 403
        async with gateway.open_client() as administrator:
            assert len((await administrator.get("/api/shared-inbox?session=cli-husam")).json()["items"]) == 1

    async def test_nobody_makes_up_a_prompt_of_somebody_else(self, gateway: Gateway) -> None:
        """A reply goes on the route of its event, so a route of people comes from nobody but Gatepost."""
        send(gateway.store, "hello", to="designer")
        push = {
            "to": "analyst",
            "type": "channel",
            "content": "x",
            "route": {"channel": "cli", "sessionId": "cli-husam"},
        }
        async with gateway.open_client(x_secret_key=gateway.create_key(entity="analyst")) as analyst:
            assert (await analyst.post("/api/inbox", json=push)).status_code == 403
            outcomes = (await analyst.post("/api/inbox/batch", json={"pushes": [push]})).json()["items"]
            assert "error" in str(outcomes) or outcomes[0].get("status") == 403
        assert gateway.store.read_sync(inbox.list_page, "analyst") == []

    async def test_a_repeat_with_its_key_is_written_once(self, gateway: Gateway) -> None:
        async with gateway.open_client() as administrator:
            headers = {"idempotency-key": "one"}
            body = {"content": "once", "to": "analyst"}
            answers = [(await administrator.post("/api/chat", json=body, headers=headers)).json() for _ in range(3)]
        assert answers[0] == answers[1] == answers[2]
        assert len(read(gateway.store)) == 1

    async def test_the_stream_goes_on_where_it_was(self, gateway: Gateway) -> None:
        gateway.store.run_sync(directory.register, EntitySpec(name="eve", kind=EntityKind.HUMAN))
        key = gateway.create_key(entity="husam")
        async with await gateway.open_stream("/api/shared-inbox/stream", x_secret_key=key) as stream:
            frames = aiter(stream)
            assert (await anext(frames)).event == "connected"
            send(gateway.store, "not for husam", "eve", to="analyst")
            send(gateway.store, "one", to="analyst")
            first = await read_entry(frames)
        assert first.data["content"] == "one"
        for text in ("two", "three"):
            send(gateway.store, text, to="analyst")
            send(gateway.store, "not for husam", "eve", to="analyst")
        path = "/api/shared-inbox/stream"
        async with await gateway.open_stream(path, x_secret_key=key, last_event_id=first.id) as stream:
            frames = aiter(stream)
            assert [(await read_entry(frames)).data["content"] for _ in range(2)] == ["two", "three"]
        async with gateway.open_client(x_secret_key=key) as husam:
            assert (await husam.get("/api/shared-inbox/stream?after=999")).status_code == 422


class TestReminders:
    async def write(self, agent: ScriptedAgent, content: str = "hello") -> str:
        _, [event] = await asyncio.to_thread(send, agent.store, content, to="ana")
        return event

    def list_reminders(self, agent: ScriptedAgent) -> int:
        """How often the model was shown a reminder, in all requests of the last cycle."""
        turns = agent.model.requests[-1].turns
        return sum(isinstance(turn, Prompt) and turn.text.startswith(reply_reminder.HEADING) for turn in turns)

    async def test_a_cycle_that_ends_without_a_reply_is_told_once(self, kit: Kit) -> None:
        agent = ScriptedAgent(kit, reply_done)
        event = await self.write(agent)
        assert await agent.run_cycles() == 1
        assert (len(agent.model.requests), self.list_reminders(agent)) == (2, 1)
        [reminder] = [
            turn.text
            for turn in agent.model.requests[-1].turns
            if isinstance(turn, Prompt) and turn.text.startswith(reply_reminder.HEADING)
        ]
        assert f"- event {event} (session cli-husam)" in reminder
        assert agent.list_run_statuses() == [RunStatus.COMPLETED]

    async def test_it_replies_when_it_is_told(self, kit: Kit) -> None:
        def respond(request: ChatRequest, replies: int) -> ModelReply:
            last = request.turns[-1]
            if isinstance(last, Prompt) and last.text.startswith(reply_reminder.HEADING):
                return ModelReply(calls=(build_call("reply", event="cli-husam", text="Sorry, hello"),))
            return build_final_reply()

        agent = ScriptedAgent(kit, respond)
        await self.write(agent)
        await agent.run_cycles()
        assert [entry.content for entry in read(kit.store)] == ["hello", "Sorry, hello"]
        assert len(agent.model.requests) == 3

    @pytest.mark.parametrize("tool", ["reply", "ask_decision"])
    async def test_who_has_answered_is_not_told(self, kit: Kit, tool: str) -> None:
        fields = {"text": "Hi"} if tool == "reply" else {"question": "Which?"}

        def respond(request: ChatRequest, replies: int) -> ModelReply:
            return (
                build_final_reply() if replies else ModelReply(calls=(build_call(tool, event="cli-husam", **fields),))
            )

        agent = ScriptedAgent(kit, respond)
        await self.write(agent)
        await self.write(agent, "are you there?")
        assert await agent.run_cycles() == 1
        assert len(agent.model.requests) == 2
        assert self.list_reminders(agent) == 0

    async def test_a_reply_to_another_person_is_none(self, kit: Kit) -> None:
        def respond(request: ChatRequest, replies: int) -> ModelReply:
            if replies:
                return build_final_reply()
            return ModelReply(calls=(build_call("reply", event="cli-main", text="Hi"),))

        agent = ScriptedAgent(kit, respond)
        await self.write(agent)
        await asyncio.to_thread(send, agent.store, "hello", "admin", to="ana")
        await agent.run_cycles()
        assert self.list_reminders(agent) == 1

    async def test_who_skips_is_not_told(self, kit: Kit) -> None:
        agent = ScriptedAgent(kit, lambda _request, _replies: ModelReply(calls=(build_call("skip"),)))
        await self.write(agent)
        await agent.run_cycles()
        assert agent.list_run_statuses() == [RunStatus.SKIPPED]
        assert len(agent.model.requests) == 1

    async def test_nobody_waits_for_an_answer_to_a_reset_or_an_event(self, kit: Kit) -> None:
        agent = ScriptedAgent(kit, reply_done)
        kit.store.run_sync(chat.reset, SendChat(content="", to="ana"), sender="husam")
        agent.push("something else")
        await agent.run_cycles()
        assert len(agent.model.requests) == 1


class TestUserAgent:
    @pytest.fixture
    def store(self, kit: Kit) -> Store:
        """A store with the user-agent and, in the team root, System4."""
        for name in ("admin", "husam"):
            kit.store.run_sync(directory.register, EntitySpec(name=name, kind=EntityKind.HUMAN))
        kit.store.run_sync(
            directory.register, EntitySpec(name="strategist", kind=EntityKind.AGENT, team="root", role="system4")
        )
        kit.store.run_sync(
            agents.make_resident,
            EntitySpec(name="user-agent", kind=EntityKind.AGENT),
            agent_config.parse({"model": "user-agent"}),
        )
        return kit.store

    async def run_cycle(self, store: Store) -> None:
        run_state = await store.run(take_run, "user-agent", "here")
        assert run_state is not None
        await run_user_agent(build_deps(store, CallbackModel(reply_done), lambda _: None), run_state)

    async def test_what_people_write_is_passed_on_as_it_is(self, store: Store) -> None:
        assert AgentConfig(model=ModelChoice(name=USER_AGENT)).has_mind is False
        _, events = send(store, "What is the plan?")
        [item] = store.read_sync(inbox.list_page, "user-agent")
        assert [item.event.id] == events
        await self.run_cycle(store)
        [passed] = [item.event for item in store.read_sync(inbox.list_page, "strategist")]
        original = item.event
        assert (passed.type, passed.route) == (EventType.CHANNEL, Route("cli", "cli-husam"))
        for name in ("content", "data", "sender", "source", "priority", "trust"):
            assert getattr(passed, name) == getattr(original, name)
        assert [(run.status, run.model) for run in store.read_sync(runs.list_page, agent="user-agent")] == [
            (RunStatus.COMPLETED, "user-agent")
        ]
        store.run_sync(replies.reply, passed.id, "Wait and see", by="strategist")
        assert [entry.content for entry in read(store, session="cli-husam")] == ["What is the plan?", "Wait and see"]

    async def test_what_nobody_is_there_for_is_kept(self, store: Store) -> None:
        store.run_sync(directory.retire, "strategist")
        send(store, "What is the plan?")
        await self.run_cycle(store)
        [unrouted] = store.read_sync(unrouted_messages.list_page, by=None)
        assert (unrouted.envelope.content, unrouted.reason.value) == ("What is the plan?", "no_target")
        assert len(read(store)) == 1


async def test_the_agent_asks_the_person_answers_and_the_agent_goes_on(tmp_path: object) -> None:
    app = Gatepost(f"sqlite:///{tmp_path}/office.db")

    @app.agent("analyst")
    async def analyst(batch: EventBatch, me: AgentContext) -> None:
        for event in batch:
            if event.type is EventType.CHANNEL:
                options = [{"id": "yes", "label": "Ship it"}, {"id": "no", "label": "Not yet"}]
                await me.use("ask_decision", question="Really?", event=event.id, options=options)
        for answer in batch.of(Answered):
            await me.use("reply", event="cli-husam", text=f"You said: {answer.text}")

    async with app:
        await app.person("husam")
        store = app._store
        await asyncio.to_thread(send, store, "Ship?", to="analyst")
        await app.until_idle()
        await asyncio.to_thread(send, store, "ship it")
        await app.until_idle()
        assert [(entry.kind, entry.content) for entry in read(store, session="cli-husam")] == [
            (EntryKind.USER_PROMPT, "Ship?"),
            (EntryKind.SYSTEM_QUESTION, "Really?"),
            (EntryKind.SYSTEM_RESPONSE, "You said: Ship it"),
        ]


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in (1, 2))])
async def test_replies_never_cross_sessions_or_people(tmp_path: object, seed: int) -> None:
    """Fifty sessions of several people, whose names and sessions look alike, with resets and questions in between."""
    app = Gatepost(f"sqlite:///{tmp_path}/office.db")
    dice = random.Random(seed)

    async def answer(batch: EventBatch, me: AgentContext) -> None:
        """Answer every prompt, or ask about it, with a text that says whose it is."""
        for event in filter(is_user_prompt, batch):
            assert event.sender is not None
            assert event.route is not None
            text = f"{event.sender.name}|{event.route.session}|{event.content}"
            if event.content.startswith("ask"):
                await me.use("ask_decision", question=text, event=event.id, free_text=True)
            else:
                await me.reply(event, text)

    for agent_name in ("analyst", "designer"):
        app.agent(agent_name)(answer)
    people = [(person, name) for person in PEOPLE for name in SESSIONS][:50]
    async with app:
        store = app._store
        for person in PEOPLE:
            await app.person(person)
        current: dict[tuple[str, str | None], str] = {}
        written: dict[str, list[str]] = {}
        for number in range(300):
            person, name = dice.choice(people)
            match dice.random():
                case chance if chance < 0.1:
                    spec = SendChat(content="", session=name, to="analyst")
                    current[person, name], _ = await store.run(chat.reset, spec, sender=person)
                case chance:
                    text = f"ask {number}" if chance < 0.3 else f"say {number}"
                    to = dice.choice(["analyst", "designer"])
                    spec = SendChat(content=text, session=name, to=to)
                    session, received = await store.run(chat.send, spec, sender=person)
                    assert session == current.setdefault((person, name), session)
                    if received.decision is None:
                        written.setdefault(session, []).append(f"{person}|{session}|{text}")
            if dice.random() < 0.2:
                await app.until_idle()
        await app.until_idle()
        assert len({parse_base(session) for session in written}) == 50
        entries = read(store)
        responses: dict[str, list[str]] = {}
        for entry in entries:
            if entry.kind is not EntryKind.USER_PROMPT:
                responses.setdefault(entry.session, []).append(entry.content)
        assert {session: sorted(texts) for session, texts in responses.items()} == {
            session: sorted(texts) for session, texts in written.items()
        }
        for person in PEOPLE:
            own_texts = [entry.content for entry in read(store, viewer=person) if entry.kind.value != "user_prompt"]
            assert all(text.startswith(f"{person}|") for text in own_texts)
            assert sorted(own_texts) == sorted(
                text for texts in written.values() for text in texts if text.startswith(f"{person}|")
            )
