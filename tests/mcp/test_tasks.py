"""A decision that is asked as a task: what a client that polls gets, whoever answers, however it ends."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any, Final

import pytest

from gatepost.app import open_store
from gatepost.gates import automatic_end_actions as automatic_ends, decision_actions as decisions, gate_actions as gates
from gatepost.gates.decision import AnswerSpec, Decision, Question
from gatepost.mcp import tasks
from tests.faults.crew_store import LaterClock
from tests.mcp.mcp_setup import MODES, TRANSPORTS, McpSetup
from tests.mcp.raw_clients import TASKS, RawClient, open_raw_client

OPTIONS: Final = [{"id": "ship", "label": "Ship it"}, {"id": "wait", "label": "Wait"}]
INVALID_PARAMS: Final = -32602
MISSING_CAPABILITY: Final = -32021


@pytest.fixture(params=TRANSPORTS)
def client(request: pytest.FixtureRequest, setup: McpSetup) -> Iterator[RawClient]:
    with open_raw_client(setup, request.param) as client:
        yield client


def ask(client: RawClient, *, extensions: Any = None, **arguments: Any) -> dict[str, Any]:
    """Ask Husam; return the result of the call."""
    arguments = {"question": "Ship it?", "options": OPTIONS, "of": ["husam"], "free_text": True, **arguments}
    answer = client.send("tools/call", extensions=extensions, name="ask_decision", arguments=arguments)
    result: dict[str, Any] = answer["result"]
    return result


def get_task(client: RawClient, id: str) -> dict[str, Any]:
    task: dict[str, Any] = client.send("tasks/get", taskId=id)["result"]
    assert (task["resultType"], task["taskId"]) == ("complete", id)
    return task


def get_error(answer: dict[str, Any]) -> tuple[int, str]:
    return answer["error"]["code"], answer["error"]["message"]


def answer_decision(setup: McpSetup, id: str, **answer: Any) -> None:
    setup.store.run_sync(decisions.answer, id, AnswerSpec(**answer), by="husam")


def show_decision(setup: McpSetup, id: str) -> Decision:
    return setup.store.read_sync(decisions.show, id)


def pass_deadlines(setup: McpSetup) -> None:
    """End what is due in an hour, as a gateway would then."""
    with closing(open_store(f"sqlite:///{setup.home}/gatepost.db", clock=LaterClock())) as store:
        assert store.run_sync(automatic_ends.end_due) == 1


class TestDeclared:
    def test_a_task_is_made_of_a_decision(self, setup: McpSetup, client: RawClient) -> None:
        task = ask(client)
        decision = show_decision(setup, task["taskId"])
        assert (task["resultType"], task["status"], task["ttlMs"]) == ("task", "working", None)
        assert task["statusMessage"] == "waiting for husam to decide"
        assert (decision.asker, decision.question) == ("analyst", "Ship it?")
        working = get_task(client, decision.id)
        assert working == {**task, "resultType": "complete"}
        answer_decision(setup, decision.id, option="ship", text="on Monday")
        done = get_task(client, decision.id)
        assert (done["status"], done["statusMessage"]) == ("completed", "answered by husam")
        assert done["lastUpdatedAt"] > done["createdAt"] == task["createdAt"]
        result = done["result"]
        assert (result["resultType"], result["isError"]) == ("complete", False)
        assert result["structuredContent"]["answer"] | {"at": ""} == {
            "outcome": "answered", "option": "ship", "text": "on Monday", "by": "husam", "at": "", "iteration": 1,
        }  # fmt: skip
        assert 'answered by husam: ship "on Monday"' in result["content"][0]["text"]
        assert get_task(client, decision.id) == done

    def test_the_server_says_so(self, client: RawClient) -> None:
        capabilities = client.send("server/discover")["result"]["capabilities"]
        assert capabilities["extensions"] == {TASKS: {}}

    def test_other_tools_answer_at_once(self, client: RawClient) -> None:
        listed = client.send("tools/call", name="list_decisions", arguments={"wait": 0})
        assert listed["result"]["structuredContent"] == {"items": []}

    def test_a_mistake_makes_no_task(self, setup: McpSetup, client: RawClient) -> None:
        result = ask(client, of=["nobody"])
        assert (result["resultType"], result["isError"]) == ("complete", True)
        assert setup.store.read_sync(decisions.list_page) == []

    def test_the_agent_may_stop_meanwhile(self, setup: McpSetup, client: RawClient) -> None:
        ask(client)
        assert setup.store.read_sync(gates.list_blocking, "analyst") == []
        decision = ask(client, extensions={})["structuredContent"]
        [gate] = setup.store.read_sync(gates.list_blocking, "analyst")
        assert gate.awaits == decision["id"]


class TestNotDeclared:
    @pytest.mark.parametrize("extensions", [{}, {"com.example/other": {}}])
    def test_the_answer_is_the_decision(self, client: RawClient, extensions: Any) -> None:
        result = ask(client, extensions=extensions)
        assert result["resultType"] == "complete"
        assert result["structuredContent"]["status"] == "pending"

    @pytest.mark.parametrize("verb", ["get", "cancel", "update"])
    def test_nothing_is_told_of_a_task(self, setup: McpSetup, client: RawClient, verb: str) -> None:
        id = ask(client)["taskId"]
        refusal = client.send(f"tasks/{verb}", extensions={}, taskId=id, inputResponses={})
        assert get_error(refusal)[0] == MISSING_CAPABILITY
        assert refusal["error"]["data"] == {"requiredCapabilities": {"extensions": {TASKS: {}}}}
        assert show_decision(setup, id).is_open

    @pytest.mark.parametrize("transport", TRANSPORTS)
    async def test_the_older_revision_has_no_such_tasks(self, setup: McpSetup, transport: str) -> None:
        older = next(revision for revision in MODES if revision != "2026-07-28")
        async with setup.open_client(transport, older) as client:
            assert client.server_capabilities.extensions is None
            arguments = {"question": "Ship it?", "options": OPTIONS, "of": ["husam"]}
            result = await client.call_tool("ask_decision", arguments)
            assert result.structured_content["status"] == "pending"


class TestEnds:
    def test_the_default_counts_at_the_deadline(self, setup: McpSetup, client: RawClient) -> None:
        id = ask(client, default="wait", within="10 minutes")["taskId"]
        pass_deadlines(setup)
        task = get_task(client, id)
        assert (task["status"], task["statusMessage"]) == ("completed", "defaulted")
        assert task["result"]["structuredContent"]["answer"]["option"] == "wait"

    def test_it_expires(self, setup: McpSetup, client: RawClient) -> None:
        id = ask(client, within="10 minutes")["taskId"]
        pass_deadlines(setup)
        task = get_task(client, id)
        assert (task["status"], task["statusMessage"]) == ("completed", "expired")
        assert task["result"]["structuredContent"]["status"] == "expired"

    def test_an_administrator_withdraws_it(self, setup: McpSetup, client: RawClient) -> None:
        id = ask(client)["taskId"]
        setup.store.run_sync(decisions.withdraw, id, by=None, reason="not needed")
        task = get_task(client, id)
        assert task["status"] == "completed"
        assert task["result"]["structuredContent"]["answer"]["text"] == "not needed"

    def test_it_is_sent_back_with_words_and_stays_at_its_end(self, setup: McpSetup, client: RawClient) -> None:
        id = ask(client)["taskId"]
        answer_decision(setup, id, text="which version?", again=True)
        task = get_task(client, id)
        assert (task["status"], task["statusMessage"]) == ("completed", "again by husam")
        assert task["result"]["structuredContent"]["status"] == "revising"
        assert task["result"]["structuredContent"]["answer"]["text"] == "which version?"
        assert 'again by husam: "which version?"' in task["result"]["content"][0]["text"]
        question = Question(question="Ship version 2?", free_text=True)
        setup.store.run_sync(decisions.revise, id, question, by="analyst")
        assert get_task(client, id)["status"] == "completed"


class TestCancel:
    def test_the_asker_withdraws_it(self, setup: McpSetup, client: RawClient) -> None:
        id = ask(client)["taskId"]
        answer = client.send("tasks/cancel", taskId=id)["result"]
        assert answer.keys() <= {"resultType", "_meta"}
        assert answer["resultType"] == "complete"
        last = show_decision(setup, id).last_answer
        assert last is not None
        assert (last.outcome, last.by) == ("withdrawn", "analyst")
        task = get_task(client, id)
        assert (task["status"], task["statusMessage"]) == ("cancelled", "withdrawn by analyst")
        assert "result" not in task
        assert client.send("tasks/cancel", taskId=id)["result"]["resultType"] == "complete"

    def test_an_answer_that_came_first_stays(self, setup: McpSetup, client: RawClient) -> None:
        id = ask(client)["taskId"]
        answer_decision(setup, id, option="ship")
        assert client.send("tasks/cancel", taskId=id)["result"]["resultType"] == "complete"
        assert get_task(client, id)["result"]["structuredContent"]["answer"]["option"] == "ship"


class TestStrangers:
    @pytest.mark.parametrize("verb", ["get", "cancel", "update"])
    @pytest.mark.parametrize("transport", TRANSPORTS)
    def test_for_all_others_there_is_no_task(self, setup: McpSetup, verb: str, transport: str) -> None:
        with open_raw_client(setup, transport) as client:
            id = ask(client, of=["designer"])["taskId"]
        responses = {"answer": {"action": "accept", "content": {"option": "ship"}}}
        sentences = set()
        for name in ("designer", "developer"):  # who was asked, and who has nothing to do with it
            with open_raw_client(setup, transport, name) as client:
                for task in (id, f"{id[:-1]}{'0' if id[-1] != '0' else '1'}"):
                    refusal = client.send(f"tasks/{verb}", taskId=task, inputResponses=responses)
                    code, sentence = get_error(refusal)
                    assert code == INVALID_PARAMS
                    sentences.add(sentence.replace(task, "ID"))
        assert sentences == {"there is no task 'ID' of this caller"}
        assert show_decision(setup, id).is_open

    @pytest.mark.parametrize("task", ["", "x", "gate_1", "dec_", "a" * 5_000, 5, None, {}])
    def test_what_is_no_id_is_refused(self, client: RawClient, task: Any) -> None:
        assert get_error(client.send("tasks/get", taskId=task))[0] == INVALID_PARAMS


def test_no_update_answers_a_decision(setup: McpSetup, client: RawClient) -> None:
    id = ask(client)["taskId"]
    responses = {"answer": {"action": "accept", "content": {"option": "ship"}}}
    code, sentence = get_error(client.send("tasks/update", taskId=id, inputResponses=responses))
    assert (code, sentence) == (INVALID_PARAMS, f"the task {id!r} takes no input: husam can answer it")
    assert show_decision(setup, id).is_open
    assert get_task(client, id)["status"] == "working"


def test_another_server_continues_the_task(setup: McpSetup) -> None:
    with open_raw_client(setup, "stdio") as client:
        id = ask(client)["taskId"]
    with open_raw_client(setup, "stdio") as client:
        assert get_task(client, id)["status"] == "working"
    answer_decision(setup, id, option="ship")
    for transport in TRANSPORTS:
        with open_raw_client(setup, transport) as client:
            assert get_task(client, id)["result"]["structuredContent"]["answer"]["option"] == "ship"


def test_the_interval_is_one_that_clients_keep() -> None:
    assert 250 <= tasks._POLL_INTERVAL <= 30_000
