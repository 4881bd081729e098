"""The channel `web`: what the page of a person shows of a conversation, and what it learns from its one stream."""

from collections.abc import AsyncIterator

import pytest

from gatepost.channels import chat_handlers as chat, reply_actions as replies
from gatepost.channels.chat_api import SendChat
from gatepost.channels.shared_inbox import actions as shared_inbox
from gatepost.core.signals import Frame, Topic
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.gates.decision import Option, Question
from gatepost.residents.model_port import ChatRequest, ModelReply
from gatepost.testing import Kit
from tests.residents.scripted_agent import ScriptedAgent, build_call, build_final_reply
from tests.support.gateways.local_gateways import Gateway, StreamFrame, StreamListener, create_entities, open_gateway

POSTGRES_BY_NIGHT = True

SESSION = "web-husam@travel"


@pytest.fixture
async def gateway(url: str) -> AsyncIterator[Gateway]:
    async with open_gateway(url) as gateway:
        create_entities(gateway.store)
        gateway.store.run_sync(directory.register, EntitySpec(name="rosa", kind=EntityKind.HUMAN))
        yield gateway


def write(gateway: Gateway, content: str, person: str = "husam", to: str = "analyst") -> str:
    """Write on the page as a person; return the event."""
    spec = SendChat(content=content, to=to, session="travel", channel="web")
    _, received = gateway.store.run_sync(chat.send, spec, sender=person)
    [event] = received.events
    return event


async def read_next(stream: StreamListener, *events: str) -> StreamFrame:
    """Return the next event of one of these names."""
    async for frame in stream:
        if frame.event in events:
            return frame
    raise AssertionError("the stream has ended")


class TestConversation:
    async def test_prompt_question_and_answer_come_by_the_one_stream(self, gateway: Gateway) -> None:
        husam_key, analyst_key = gateway.create_key(entity="husam"), gateway.create_key(entity="analyst")
        async with (
            gateway.open_client(x_secret_key=husam_key) as husam,
            gateway.open_client(x_secret_key=analyst_key) as analyst,
            await gateway.open_stream("/api/stream", x_secret_key=husam_key) as stream,
        ):
            await read_next(stream, "connected")
            text = {"content": "Book it?", "to": "analyst", "session": "travel", "channel": "web"}
            sent = (await husam.post("/api/chat", json=text)).json()
            assert sent["sessionId"] == SESSION
            prompt = await read_next(stream, "shared.entry")
            assert (prompt.data["id"], prompt.data["channel"]) == (sent["entryId"], "web")
            assert prompt.data["metadata"]["targets"] == "analyst"

            question = {
                "question": "By train?",
                "options": [{"id": "yes", "label": "Yes"}],
                "event": sent["events"][0],
            }
            decision = (await analyst.post("/api/decisions", json=question)).json()
            asked = await read_next(stream, "shared.entry")
            assert (asked.data["sessionId"], asked.data["decision"]) == (SESSION, decision["id"])
            # a button of the page
            answer = {"option": "yes", "contextHash": decision["contextHash"]}
            assert (await husam.put(f"/api/decisions/{decision['id']}/answer", json=answer)).status_code == 200
            ended = await read_next(stream, "shared.entry")
            assert (ended.data["seq"], ended.data["answer"]) == (asked.data["seq"], "Yes")

            await analyst.post(f"/api/events/{sent['events'][0]}/reply", json={"text": "Booked"})
            response = await read_next(stream, "shared.entry")
            assert (response.data["kind"], response.data["sender"]) == ("system_response", "analyst")
            assert (response.data["sessionId"], response.data["content"]) == (SESSION, "Booked")

            sessions = (await husam.get("/api/channels/sessions?channel=web")).json()["items"]
            assert [session["sessionId"] for session in sessions] == [SESSION]

    async def test_after_a_reset_the_conversation_has_another_session(self, gateway: Gateway) -> None:
        write(gateway, "before")
        async with gateway.open_client(x_secret_key=gateway.create_key(entity="husam")) as husam:
            reset = {"session": "travel", "channel": "web", "reset": True}
            session = (await husam.post("/api/chat", json=reset)).json()["sessionId"]
            write(gateway, "after")
            entries = (await husam.get(f"/api/shared-inbox?session={session}")).json()["items"]
            sessions = (await husam.get("/api/channels/sessions?channel=web")).json()["items"]
        assert session == f"{SESSION}:reset-1"
        assert [entry["content"] for entry in entries] == ["after"]
        assert [listed["sessionId"] for listed in sessions] == [session]

    async def test_the_history_is_read_from_its_end(self, gateway: Gateway) -> None:
        for number in range(7):
            write(gateway, str(number))
            write(gateway, f"of rosa {number}", person="rosa")
        pages: list[list[str]] = []
        async with gateway.open_client() as administrator:
            after: str | None = "0"
            while after is not None:
                query = f"/api/shared-inbox?session={SESSION}&newest=true&limit=3&after={after}"
                page = (await administrator.get(query)).json()
                pages.append([entry["content"] for entry in page["items"]])
                after = page["next"]
        assert pages == [["4", "5", "6"], ["1", "2", "3"], ["0"]]

    async def test_questions_that_wait_are_read_from_their_end(self, gateway: Gateway) -> None:
        event = write(gateway, "Book it?")
        for text in ("first", "second", "third"):
            question = Question(question=text, options=(Option(id="yes", label="Yes"),))
            gateway.store.run_sync(replies.ask_decision, question, event, by="analyst")
        async with gateway.open_client() as administrator:
            query = "/api/shared-inbox?pending=true&newest=true&limit=2"
            page = (await administrator.get(query)).json()
            older = (await administrator.get(f"{query}&after={page['next']}")).json()
        assert [entry["content"] for entry in page["items"]] == ["second", "third"]
        assert [entry["content"] for entry in older["items"]] == ["first"]

    async def test_an_entry_is_shown_to_those_who_may_see_it(self, gateway: Gateway) -> None:
        write(gateway, "mine")
        [entry] = gateway.store.read_sync(shared_inbox.list_page)
        path = f"/api/shared-inbox/{entry.id}"
        async with (
            gateway.open_client() as administrator,
            gateway.open_client(x_secret_key=gateway.create_key(entity="husam")) as husam,
            gateway.open_client(x_secret_key=gateway.create_key(entity="rosa")) as rosa,
        ):
            for client in (administrator, husam):
                assert (await client.get(path)).json()["content"] == "mine"
            assert (await rosa.get(path)).status_code == 404
            missing = (await administrator.get("/api/shared-inbox/entry_0")).json()
        assert missing["detail"] == "there is no entry 'entry_0'"


class TestPresence:
    """A person sees that an agent thinks about what the person wrote, and nobody else does."""

    async def test_the_person_sees_who_thinks_and_in_which_session(self, gateway: Gateway) -> None:
        key = gateway.create_key(entity="husam")
        async with await gateway.open_stream("/api/stream", x_secret_key=key) as stream:
            await read_next(stream, "connected")
            write(gateway, "not for husam", person="rosa", to="designer")
            write(gateway, "mine")
            await read_next(stream, "shared.entry")
            for name in ("designer", "analyst"):
                for event in ("agent.active", "agent.inactive"):
                    data = {"agent": name, "agentName": name.title(), "runId": f"run_{name}"}
                    gateway.app_state.signal_bus.send([Frame(Topic("agent", name), event, data)])
            frames = [await read_next(stream, "agent.active", "agent.inactive") for _ in range(2)]
        assert [frame.event for frame in frames] == ["agent.active", "agent.inactive"]
        for frame in frames:
            assert frame.data == {
                "agent": "analyst",
                "agentName": "Analyst",
                "runId": "run_analyst",
                "channel": "web",
                "sessionId": SESSION,
            }

    async def test_a_cycle_about_something_else_is_not_shown(self, gateway: Gateway) -> None:
        key = gateway.create_key(entity="husam")
        async with await gateway.open_stream("/api/stream", x_secret_key=key) as stream:
            await read_next(stream, "connected")
            write(gateway, "mine")
            for run in ("run_1", "run_2"):
                for event in ("agent.active", "agent.inactive"):
                    frame = Frame(
                        Topic("agent", "analyst"), event, {"agent": "analyst", "agentName": "A", "runId": run}
                    )
                    gateway.app_state.signal_bus.send([frame])
            gateway.app_state.signal_bus.send([Frame(Topic("inbox", "husam"), "decision.asked", {})])
            names = [(await read_next(stream, "agent.active", "agent.inactive", "decision.asked")) for _ in range(3)]
        assert [frame.event for frame in names] == ["agent.active", "agent.inactive", "decision.asked"]
        assert names[0].data["runId"] == "run_1"


class TestStreaming:
    """The words of a reply while the model writes them."""

    async def answer(self, kit: Kit, **arguments: str) -> tuple[ScriptedAgent, list[Frame]]:
        def respond(request: ChatRequest, replies: int) -> ModelReply:
            return build_final_reply() if replies else ModelReply(calls=(build_call("reply", **arguments),))

        agent = ScriptedAgent(kit, respond)
        await kit.store.run(chat.send, SendChat(content="hello", to="ana", channel="web"), sender="husam")
        await agent.run_cycles()
        return agent, [frame for frame in agent.frames if frame.event.startswith("shared.entry.")]

    async def test_the_person_reads_the_words_as_they_come(self, kit: Kit) -> None:
        text = "One moment please, I look it up."
        agent, frames = await self.answer(kit, event="web-husam", text=text)
        own_frames = [frame for frame in frames if frame.topic == Topic("inbox", "husam")]
        assert [frame.data["phase"] for frame in own_frames][:2] == ["start", "delta"]
        assert "".join(frame.data.get("delta", "") for frame in own_frames) == text
        [run] = {frame.data["runId"] for frame in frames}
        assert {str(frame.topic) for frame in frames} == {"inbox:husam", f"run:{run}"}
        for frame in own_frames:
            assert (frame.data["agent"], frame.data["channel"], frame.data["sessionId"]) == ("ana", "web", "web-husam")
        [_, entry] = await kit.store.read(shared_inbox.list_page)
        assert own_frames[-1].data["phase"] == "done"
        assert own_frames[-1].data["entryId"] == entry.id
        assert agent.list_messages() == []

    async def test_words_for_another_session_are_shown_to_nobody(self, kit: Kit) -> None:
        _, frames = await self.answer(kit, event="web-main", text="A text that is long enough to be streamed.")
        assert frames == []

    async def test_a_session_that_is_written_last_is_not_guessed(self, kit: Kit) -> None:
        """The beginning of the name of a session is the name of another one."""
        _, frames = await self.answer(kit, text="A text that is long enough to be streamed.", event="web-husam")
        assert frames == []
