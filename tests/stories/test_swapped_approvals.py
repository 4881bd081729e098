"""
G4: an answer to an action has the hash of what was shown. An asker that changes the arguments after a person has read
them has nothing approved, through whichever door the answer comes; those who were shown the question are told.
"""

from typing import Any, Final

import pytest

from gatepost.channels import chat_handlers as chat, outgoing_message_actions as outgoing, reply_actions as replies
from gatepost.channels.chat_api import SendChat
from gatepost.channels.outgoing_message_actions import ChannelMessage
from gatepost.channels.shared_inbox import actions as shared_inbox
from gatepost.channels.telegram.buttons import DecisionButton
from gatepost.core.ports import Store
from gatepost.errors import Conflict, Invalid
from gatepost.gates import decision_actions as decisions
from gatepost.gates.decision import AnswerSpec, Decision, Question
from gatepost.gates.proposed_action import Action, Arguments
from gatepost.inbox import claim_actions as inbox
from gatepost.testing import Kit
from tests.channels.telegram.channel_setup import AGENT, VerbSetup, pair
from tests.channels.telegram.verb_updates import HUSAM, open_verb_setup, press, sign, write
from tests.residents.tools.tool_caller import ToolCaller
from tests.support.gateways.local_gateways import create_entities, open_gateway
from tests.support.store_context import StoreContext

POSTGRES_BY_NIGHT = True

SMALL: Final[Arguments] = {"amount": 100}
LARGE: Final[Arguments] = {"amount": 9_000_000}
#: every kind of answer; none of them is given to a question that was not read
ANSWERS: Final[list[dict[str, Any]]] = [
    {"option": "accept"},
    {"option": "edit", "args": {"amount": 90}},
    {"option": "respond", "text": "yes"},
    {"text": "yes"},
    {"option": "ignore"},
    {"text": "less", "again": True},
    {"reject": True},
]


def build_question(args: Arguments = SMALL, respondent: str = "husam") -> Question:
    return Question(question="Pay?", action=Action(name="pay", args=args), respondents=(respondent,))


def swap(store: Store, decision: Decision, respondent: str = "husam") -> Decision:
    """Ask for more than was shown."""
    return store.run_sync(decisions.revise, decision.id, build_question(LARGE, respondent), by=decision.asker)


def is_open(store: Store, decision: Decision) -> bool:
    return store.read_sync(decisions.show, decision.id).is_open


@pytest.mark.parametrize("answer", ANSWERS)
class TestOverHttp:
    async def test_only_what_was_read_is_answered(self, url: str, answer: dict[str, Any]) -> None:
        async with open_gateway(url) as gateway:
            create_entities(gateway.store)
            decision = gateway.store.run_sync(decisions.ask, build_question(), by="analyst")
            key = gateway.create_key(entity="husam")
            async with gateway.open_client(x_secret_key=key) as husam:
                path = f"/api/decisions/{decision.id}"
                shown = (await husam.get(path)).json()
                unseen = await husam.put(f"{path}/answer", json=answer)
                assert (unseen.status_code, "`contextHash`" in unseen.json()["detail"]) == (422, True)
                assert (
                    unseen.json()["hint"] == f"`gatepost decision show {decision.id}` shows its arguments and its hash"
                )
                swap(gateway.store, decision)
                swapped = await husam.put(f"{path}/answer", json=answer | {"contextHash": shown["contextHash"]})
                assert (swapped.status_code, "has changed since" in swapped.json()["detail"]) == (409, True)
                assert is_open(gateway.store, decision)
                shown = (await husam.get(path)).json()
                assert shown["action"]["args"] == LARGE
                answered = await husam.put(f"{path}/answer", json=answer | {"contextHash": shown["contextHash"]})
                assert answered.status_code == 200, answered.text


class TestRounds:
    def test_those_who_were_shown_the_question_are_told_of_the_new_one(self, kit: Kit) -> None:
        create_entities(kit.store)
        decision = kit.store.run_sync(decisions.ask, build_question(), by="analyst")
        revision = swap(kit.store, decision)
        assert (revision.iteration, revision.context_hash != decision.context_hash) == (2, True)
        [item] = kit.store.read_sync(inbox.peek, "husam")
        assert (item.event.data["iteration"], item.event.data["args"]) == (2, LARGE)
        assert item.event.content.endswith(f"Answer with its hash {revision.context_hash}.")

    def test_a_question_that_is_changed_back_is_the_one_that_was_read(self, kit: Kit) -> None:
        create_entities(kit.store)
        decision = kit.store.run_sync(decisions.ask, build_question(), by="analyst")
        swap(kit.store, decision)
        reply = AnswerSpec(option="accept", context_hash=decision.context_hash)
        with pytest.raises(Conflict, match="has changed since that was read"):
            kit.store.run_sync(decisions.answer, decision.id, reply, by="husam")
        kit.store.run_sync(decisions.revise, decision.id, build_question(), by="analyst")
        answered = kit.store.run_sync(decisions.answer, decision.id, reply, by="husam")
        assert answered.answers[0].args == SMALL

    def test_the_administrator_needs_the_hash_too(self, kit: Kit) -> None:
        create_entities(kit.store)
        decision = kit.store.run_sync(decisions.ask, build_question(), by="analyst")
        with pytest.raises(Invalid, match="needs `contextHash`"):
            kit.store.run_sync(decisions.answer, decision.id, AnswerSpec(option="accept"), by=None)


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_resident_answers_only_what_it_has_read(kit: Kit, answer: dict[str, Any]) -> None:
    ctx = StoreContext(kit)
    decision = ctx.store.run_sync(decisions.ask, build_question(respondent="bob"), by="ann")
    resident = ToolCaller(ctx, "bob")
    with pytest.raises(Invalid, match=r"needs `?contextHash`?, the hash of the question that was read"):
        resident.use("answer_decision", decisionId=decision.id, **answer)
    swap(ctx.store, decision, "bob")
    with pytest.raises(Conflict, match="has changed since that was read"):
        resident.use("answer_decision", decisionId=decision.id, contextHash=decision.context_hash, **answer)
    assert ctx.store.read_sync(decisions.show, decision.id).answers == ()


class TestOnTelegram:
    """The message of a question shows all arguments, and its buttons are signed for its round."""

    @pytest.fixture
    def setup(self, kit: Kit) -> VerbSetup:
        setup = open_verb_setup(kit)
        pair(kit.store, setup.trigger, HUSAM, "husam")
        return setup

    def ask(self, setup: VerbSetup) -> Decision:
        decision = setup.store.run_sync(decisions.ask, build_question(), by=AGENT)
        self.deliver(setup, decision, 900)
        return decision

    def find_message(self, setup: VerbSetup, decision: Decision) -> ChannelMessage:
        """The last message that shows a decision."""
        return setup.store.read_sync(outgoing.list_by_decision, decision.number)[-1]

    def deliver(self, setup: VerbSetup, decision: Decision, id: int) -> None:
        """Let the last question arrive, with this id."""
        message = self.find_message(setup, decision)
        setup.store.run_sync(outgoing.save_part, message, [str(id)])
        setup.store.run_sync(outgoing.finish, message)

    def reply(self, setup: VerbSetup, id: int, text: str) -> None:
        bot = {"id": setup.bot.identity.id, "is_bot": True, "first_name": "Gatepost"}
        chat = {"id": HUSAM, "type": "private"}
        quoted = {"message_id": id, "date": 1, "chat": chat, "from": bot, "text": "Pay?"}
        write(setup, HUSAM, text, reply_to_message=quoted)

    def test_the_message_shows_the_arguments(self, setup: VerbSetup) -> None:
        decision = self.ask(setup)
        assert 'pay {"amount":100}' in self.find_message(setup, decision).content.replace("\\", "")

    def test_a_button_of_the_old_question_answers_nothing(self, setup: VerbSetup) -> None:
        decision = self.ask(setup)
        old = sign(DecisionButton(decision=decision.id, option=0, iteration=1), HUSAM)
        swap(setup.store, decision)
        assert press(setup, HUSAM, old, message=900) == "This question was asked again: answer the newer one."
        self.deliver(setup, decision, 901)
        assert press(setup, HUSAM, old, message=900) == "This question was asked again: answer the newer one."
        new = sign(DecisionButton(decision=decision.id, option=0, iteration=2), HUSAM)
        assert press(setup, HUSAM, new, message=901).startswith("Noted: accepted pay")

    @pytest.mark.parametrize("text", ["accept", "run it as it is", "yes, go on"])
    def test_a_text_answers_only_what_has_arrived(self, setup: VerbSetup, text: str) -> None:
        decision = self.ask(setup)
        swap(setup.store, decision)
        write(setup, HUSAM, text)
        assert is_open(setup.store, decision), "the new question is still on its way"
        assert "has changed since that was read" in setup.list_sent()[-1]
        self.deliver(setup, decision, 901)
        write(setup, HUSAM, text)
        assert not is_open(setup.store, decision)

    @pytest.mark.parametrize("text", ["accept", "yes, go on"])
    def test_a_reply_to_the_old_question_answers_nothing(self, setup: VerbSetup, text: str) -> None:
        decision = self.ask(setup)
        swap(setup.store, decision)
        self.deliver(setup, decision, 901)
        self.reply(setup, 900, text)
        assert is_open(setup.store, decision)
        self.reply(setup, 901, text)
        assert not is_open(setup.store, decision)

    def test_a_text_before_the_first_question_arrives_answers_nothing(self, setup: VerbSetup) -> None:
        decision = setup.store.run_sync(decisions.ask, build_question(), by=AGENT)
        write(setup, HUSAM, "accept")
        assert is_open(setup.store, decision)


def test_in_a_chat_of_the_page_a_text_answers_what_is_shown_there(kit: Kit) -> None:
    create_entities(kit.store)
    prompt = SendChat(content="Pay them", to="analyst", channel="web")
    _, received = kit.store.run_sync(chat.send, prompt, sender="husam")
    question = build_question()
    decision = kit.store.run_sync(replies.ask_decision, question, received.events[0], by="analyst")
    swap(kit.store, decision)
    shown = [entry for entry in kit.store.read_sync(shared_inbox.list_recent, limit=10) if entry.decision]
    assert [(entry.status, entry.content) for entry in shown] == [
        ("pending", 'Pay?\n\npay {"amount":9000000}'),
        ("ended", 'Pay?\n\npay {"amount":100}'),
    ]
    _, answered = kit.store.run_sync(chat.send, SendChat(content="accept", to="analyst", channel="web"), sender="husam")
    assert answered.decision == decision.id
