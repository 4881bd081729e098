"""
Presses of buttons on Telegram.

The data of a button is signed for its chat (`channels/telegram/buttons.py`), so a press with other data, or from
another chat, does nothing. Who may press is decided here: a question is answered by a person who was asked, and by
nobody else, not even an administrator; a request for a pairing by an administrator in a paired private chat. Every
press is answered, if only to end the spinner on it.
"""

from typing import Final, assert_never

from msgspec import Struct

from gatepost.channels import (
    access_actions as access,
    outgoing_message_actions as outgoing,
    pairing_actions as pairing,
    question_actions as questions,
)
from gatepost.channels.access_actions import ListVerdict
from gatepost.channels.telegram.buttons import DecisionButton, PairingButton, parse_callback_data
from gatepost.channels.telegram.message_parts import shorten_text
from gatepost.channels.telegram.update import ButtonPress
from gatepost.channels.triggers.trigger import Trigger
from gatepost.core.ports import Transaction
from gatepost.directory import entity_actions as directory
from gatepost.errors import GatepostError, NotFound, Unavailable
from gatepost.gates import decision_actions as decisions
from gatepost.gates.decision import AnswerSpec
from gatepost.inbox.event_rendering import escape_markdown

_INVALID: Final = "This button is not valid any more."


class PressAnswer(Struct, frozen=True, kw_only=True):
    """The answer to a press, which its user sees; without a text only the spinner ends."""

    query_id: str
    text: str = ""
    #: whether the user has to close it
    is_alert: bool = False


def take(tx: Transaction, trigger: Trigger, press: ButtonPress, key: bytes) -> PressAnswer:
    """Do what a press asks for, and return the answer to it."""
    if press.chat is None:
        return _refuse(press, _INVALID)
    chat, user = str(press.chat), str(press.user)
    verdict = access.check_lists(trigger.config, chat, user)
    if verdict is ListVerdict.BLOCKED:
        return PressAnswer(query_id=press.query_id)
    button = parse_callback_data(press.data, key, chat=press.chat)
    person = access.find_person(tx, trigger, chat, user)
    match button:
        case None:
            return _refuse(press, _INVALID)
        case DecisionButton():
            return _answer_decision(tx, trigger, press, button, person)
        case PairingButton():
            return _answer_pairing(tx, trigger, press, button, person)
        case other:
            assert_never(other)


def _answer_decision(
    tx: Transaction, trigger: Trigger, press: ButtonPress, button: DecisionButton, person: str | None
) -> PressAnswer:
    try:
        decision = decisions.show(tx, button.decision)
    except NotFound:
        return _refuse(press, _INVALID)
    if person not in decision.respondents:
        return _refuse(press, "This question is not for you.")
    message = outgoing.find_by_sent_id(tx, trigger.number, str(press.chat), str(press.message_id))
    is_replaced = message is not None and not outgoing.is_newest(tx, message, decision)
    is_outdated = button.iteration != decision.iteration or button.option >= len(decision.options) or is_replaced
    if is_outdated and decision.is_open:
        return _refuse(press, "This question was asked again: answer the newer one.")
    if is_outdated:
        return _refuse(press, _INVALID)
    assert person is not None, "a respondent has a name"
    # The button is signed for this round, so its message has shown this question.
    reply = AnswerSpec(option=decision.options[button.option].id, context_hash=decision.context_hash)
    answered, sentence = questions.answer(tx, decision, reply, person)
    return PressAnswer(query_id=press.query_id, text=shorten_text(sentence), is_alert=answered is None)


def _answer_pairing(
    tx: Transaction, trigger: Trigger, press: ButtonPress, button: PairingButton, person: str | None
) -> PressAnswer:
    if person != directory.ADMINISTRATOR or press.chat != press.user:
        return _refuse(press, "Only an administrator can do this.")
    try:
        verb = pairing.approve if button.is_approval else pairing.deny
        answered = verb(tx, f"pair_{button.code}", by=person)
    except Unavailable:
        raise
    except GatepostError as error:
        return _refuse(press, error.message)
    verdict = f"Approved: {{}} is {answered.person}" if button.is_approval else "Denied: {}"
    message = outgoing.find_by_sent_id(tx, trigger.number, str(press.chat), str(press.message_id))
    if message is not None:
        content = f"{message.content}\n\n{verdict.format(escape_markdown(answered.display))}"
        outgoing.send(tx, trigger.number, message.chat, content, replaces=message.number)
    return PressAnswer(query_id=press.query_id, text=shorten_text(verdict.format(answered.display)))


def _refuse(press: ButtonPress, text: str) -> PressAnswer:
    return PressAnswer(query_id=press.query_id, text=shorten_text(text), is_alert=True)
