"""Decisions about an action through the routes and the tools of residents: on both databases, as people use them."""

import json
import re
from collections.abc import AsyncIterator
from typing import Any, Final

import httpx2
import pytest

from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.gates import decision_actions as decisions
from gatepost.gates.decision import AnswerSpec, Question
from gatepost.gates.proposed_action import MAX_ARGS_BYTES, Action
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import EventType
from gatepost.residents.model_port import CallResult, ChatRequest, ModelReply, Prompt
from gatepost.testing import Kit
from tests.residents.scripted_agent import ScriptedAgent, build_call, build_final_reply
from tests.support.gateways.local_gateways import create_entities, open_gateway

POSTGRES_BY_NIGHT = True

ARGS: Final = {"to": "ben", "amount": 100}
QUESTION: Final = {
    "asker": "analyst",
    "of": ["husam"],
    "question": "Send it?",
    "action": {"name": "send_invoice", "args": ARGS},
}
LARGE: Final = {"a": "x" * MAX_ARGS_BYTES}


@pytest.fixture
async def admin(url: str) -> AsyncIterator[httpx2.AsyncClient]:
    async with open_gateway(url) as gateway, gateway.open_client() as client:
        create_entities(gateway.store)
        yield client


async def ask(admin: httpx2.AsyncClient, **fields: Any) -> dict[str, Any]:
    answer = await admin.post("/api/decisions", json=QUESTION | fields)
    assert answer.status_code == 201, answer.text
    document: dict[str, Any] = answer.json()
    return document


async def test_one_answers_and_the_other_learns_what(admin: httpx2.AsyncClient) -> None:
    decision = await ask(admin, allow=["edit", "accept"])
    assert (decision["action"], decision["allow"]) == (QUESTION["action"], ["accept", "edit"])
    assert [option["id"] for option in decision["options"]] == ["accept", "edit"]
    path = f"/api/decisions/{decision['id']}"
    reply = {"option": "edit", "args": {"amount": 90}, "by": "husam", "contextHash": decision["contextHash"]}
    answered = (await admin.put(f"{path}/answer", json=reply)).json()
    assert (answered["answer"]["option"], answered["answer"]["args"]) == ("edit", {"amount": 90})
    assert (await admin.get(path)).json() == answered
    late = await admin.put(f"{path}/answer", json={"option": "accept"})
    assert late.status_code == 409
    winner = late.json()["answer"]
    assert (winner["by"], winner["kind"], winner["args"]) == ("husam", "edit", {"amount": 90})
    [item] = (await admin.get("/api/inbox/analyst")).json()["items"]
    assert [item["data"][name] for name in ("action", "kind", "args")] == ["send_invoice", "edit", {"amount": 90}]


async def test_a_plain_decision_looks_as_before(admin: httpx2.AsyncClient) -> None:
    decision = await ask(admin, action=None, freeText=True)
    assert not {"action", "allow"} & decision.keys()
    reply = {"text": "yes", "by": "husam"}
    answered = (await admin.put(f"/api/decisions/{decision['id']}/answer", json=reply)).json()
    assert "args" not in answered["answer"]


async def test_a_revision_changes_the_arguments(admin: httpx2.AsyncClient) -> None:
    decision = await ask(admin)
    path = f"/api/decisions/{decision['id']}"
    sent_back = {"text": "less", "again": True, "by": "husam", "contextHash": decision["contextHash"]}
    await admin.put(f"{path}/answer", json=sent_back)
    question = {"question": "And so?", "action": {"name": "send_invoice"}, "allow": ["ignore"], "asker": "analyst"}
    revision = (await admin.put(f"{path}/question", json=question)).json()
    assert (revision["action"], revision["allow"]) == ({"name": "send_invoice", "args": {}}, ["ignore"])
    assert (revision["iteration"], revision["guidance"]) == (2, "less")
    assert revision["contextHash"] != decision["contextHash"]
    ignored = {"option": "ignore", "by": "husam", "contextHash": revision["contextHash"]}
    answered = (await admin.put(f"{path}/answer", json=ignored)).json()
    assert (answered["status"], "args" in answered["answer"]) == ("answered", False)


@pytest.mark.parametrize(
    ("fields", "status", "detail"),
    [
        ({"action": {"name": "x", "args": []}}, 422, "args"),
        ({"action": {"name": "x", "args": "{}"}}, 422, "args"),
        ({"action": {"args": {}}}, 422, "name"),
        ({"action": {"name": "x", "arguments": {}}}, 422, "arguments"),
        ({"action": "send_invoice"}, 422, "action"),
        ({"allow": ["approve"]}, 422, "approve"),
        ({"allow": "accept"}, 422, "allow"),
        ({"action": {"name": "x", "args": LARGE}}, 413, "over the limit of 65536"),
        ({"options": [{"id": "yes", "label": "Yes"}]}, 422, "`options` cannot be combined with `action`"),
        ({"default": "edit", "within": "1h"}, 422, "cannot be the default"),
    ],
)
async def test_what_cannot_be_asked_is_refused(
    admin: httpx2.AsyncClient, fields: dict[str, Any], status: int, detail: str
) -> None:
    answer = await admin.post("/api/decisions", json=QUESTION | fields)
    assert answer.status_code == status, answer.text
    assert detail in answer.json()["detail"]
    assert (await admin.get("/api/decisions")).json()["items"] == []


@pytest.mark.parametrize(
    ("reply", "status", "hint"),
    [
        ({"option": "approve"}, 422, "give `option` (accept, edit)"),
        ({"option": "ignore"}, 422, "give `option` (accept, edit)"),
        ({"option": "accept", "args": {}}, 422, "use edit to change them"),
        ({"option": "accept", "text": "go"}, 422, "leave it out"),
        ({"option": "edit"}, 422, "give `args`: all arguments, as a JSON object"),
        ({"option": "edit", "args": LARGE}, 413, "send a reference to it instead"),
    ],
)
async def test_what_is_no_answer_is_refused_with_a_hint(
    admin: httpx2.AsyncClient, reply: dict[str, Any], status: int, hint: str
) -> None:
    decision = await ask(admin, allow=["accept", "edit"])
    answer = await admin.put(f"/api/decisions/{decision['id']}/answer", json=reply)
    assert (answer.status_code, answer.json()["hint"]) == (status, hint)
    assert (await admin.get(f"/api/decisions/{decision['id']}")).json() == decision


async def test_edited_arguments_are_an_object(admin: httpx2.AsyncClient) -> None:
    decision = await ask(admin)
    no_objects: list[Any] = [[], "{}", 1]
    for args in no_objects:
        answer = await admin.put(f"/api/decisions/{decision['id']}/answer", json={"option": "edit", "args": args})
        assert answer.status_code == 422
        assert "args" in answer.json()["detail"]


async def test_a_resident_asks_and_runs_what_was_edited(kit: Kit) -> None:
    """Ana asks before she sends; Husam changes the amount; she reads with which arguments to send."""

    def respond(request: ChatRequest, replies: int) -> ModelReply:
        if len(agent.model.requests) > 1:
            return build_final_reply("Asked.")
        action = {"name": "send_invoice", "args": ARGS}
        ask_call = build_call(
            "ask_decision", question="Send it?", action=action, allow=["accept", "edit"], of=["husam"]
        )
        return ModelReply(calls=(ask_call,))

    agent = ScriptedAgent(kit, respond)
    agent.push("send the invoice")
    await agent.run_cycles()
    [decision] = kit.store.read_sync(decisions.list_page, asker="ana")
    assert (decision.action, decision.allow) == (Action(name="send_invoice", args={**ARGS}), ("accept", "edit"))
    reply = AnswerSpec(option="edit", args={"amount": 90}, context_hash=decision.context_hash)
    kit.store.run_sync(decisions.answer, decision.id, reply, by="husam")
    await agent.run_cycles()
    prompt = agent.model.requests[-1].turns[-1]
    assert isinstance(prompt, Prompt)
    assert 'accepted send_invoice with edited arguments {\\"amount\\":90}' in prompt.text


async def test_a_resident_answers_about_an_action(kit: Kit) -> None:
    def respond(request: ChatRequest, replies: int) -> ModelReply:
        if replies > 1:
            return build_final_reply()
        prompt = next(turn.text for turn in reversed(request.turns) if isinstance(turn, Prompt))
        [(id, hash)] = re.findall(r"\[Decision (\w+)].* hash (\w+)", prompt)
        arguments: dict[str, Any] = {"args": {"amount": 90}, "contextHash": hash} if replies else {"text": "go"}
        return ModelReply(calls=(build_call("answer_decision", decisionId=id, option="edit", **arguments),))

    agent = ScriptedAgent(kit, respond)
    kit.store.run_sync(directory.register, EntitySpec(name="ben", kind=EntityKind.AGENT))
    action = Action(name="send_invoice", args={**ARGS})
    question = Question(question="Send it?", action=action, allow=("accept", "edit"), respondents=("ana",))
    kit.store.run_sync(decisions.ask, question, by="ben")
    await agent.run_cycles()
    results = [turn for turn in agent.model.requests[-1].turns if isinstance(turn, CallResult)]
    assert [result.ok for result in results] == [False, True]
    assert "text cannot be combined with the answer 'edit'" in json.loads(results[0].content)["error"]
    [item] = kit.store.read_sync(inbox.list_page, "ben", type=EventType.DECISION)
    assert (item.event.data["kind"], item.event.data["args"]) == ("edit", {"amount": 90})
