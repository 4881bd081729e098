"""
Presses of buttons on Telegram.

The data of a button is signed for its chat (`channels/telegram/buttons.py`), so a press with other data, or from
another chat, does nothing. Who may press is decided here: a question is answered by a person who was asked, and by
nobody else, not even an administrator; a button under a reply is pressed by the user whom the reply is for, as if the
label was written; a request for a pairing is answered by an administrator in a paired private chat. Every press is
answered, if only to end the spinner on it.
"""

from typing import Final, assert_never

from msgspec import Struct

from gatepost.channels import (
    access_actions as access,
    conversation_actions as conversations,
    outgoing_message_actions as outgoing,
    pairing_actions as pairing,
    question_actions as questions,
    user_message_actions as user_messages,
)
from gatepost.channels.access_actions import ListVerdict
from gatepost.channels.outgoing_message_actions import ChannelMessage
from gatepost.channels.provider import Button, UserMessage, build_chat_session
from gatepost.channels.telegram.buttons import DecisionButton, PairingButton, ReplyButton, parse_callback_data
from gatepost.channels.telegram.message_parts import shorten_text
from gatepost.channels.telegram.update import ButtonPress
from gatepost.channels.triggers.trigger import Trigger
from gatepost.channels.user_message_actions import IntakeOutcome
from gatepost.core.escaping import escape_markdown
from gatepost.core.ports import Transaction
from gatepost.directory import entity_actions as directory
from gatepost.errors import GatepostError, NotFound, Unavailable
from gatepost.gates import decision_actions as decisions
from gatepost.gates.decision import AnswerOrigin, AnswerSpec
from gatepost.inbox.event import Route

_INVALID: Final = "This button is not valid any more."


class PressAnswer(Struct, frozen=True, kw_only=True):
    """The answer to a press, which its user sees; without a text only the spinner ends."""

    query_id: str
    text: str = ""
    #: whether the user has to close it
    is_alert: bool = False


def take(
    tx: Transaction, trigger: Trigger, press: ButtonPress, key: bytes, *, dedup_key: str, random_bits: int
) -> PressAnswer:
    """Do what a press asks for, and return the answer to it; an event about it has the dedup key."""
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
        case ReplyButton():
            return _pass_on(tx, trigger, press, button, dedup_key=dedup_key, random_bits=random_bits)
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
    option = decision.options[button.option]
    reply = AnswerSpec(option=option.id, context_hash=decision.context_hash)
    pressed = _build_message(press, Button(option.id, option.label), message)
    session = conversations.ensure_session(
        tx,
        trigger.provider,
        build_chat_session(str(press.chat), pressed.user, pressed.thread),
        trigger=trigger,
        person=directory.find(tx, person),
        chat=str(press.chat),
        user_id=pressed.user,
        thread=pressed.thread,
        display=pressed.display,
    )
    metadata = user_messages.build_metadata(trigger, session, pressed)
    origin = AnswerOrigin(route=Route(session.channel, session.id), trigger=trigger.name, metadata=metadata)
    answered, sentence = questions.answer(tx, decision, reply, person, origin)
    return PressAnswer(query_id=press.query_id, text=shorten_text(sentence), is_alert=answered is None)


def _pass_on(
    tx: Transaction, trigger: Trigger, press: ButtonPress, button: ReplyButton, *, dedup_key: str, random_bits: int
) -> PressAnswer:
    """Let whoever gets what the user writes know of a press."""
    message = outgoing.find(tx, button.message)
    options = message.options if message is not None and message.has_reply_buttons else ()
    is_here = message is not None and (message.trigger, message.chat) == (trigger.name, str(press.chat))
    if message is None or not is_here or button.option >= len(options):
        return _refuse(press, _INVALID)
    if message.user_id != str(press.user):
        return _refuse(press, "These buttons are not for you.")
    option = options[button.option]
    pressed = _build_message(press, option, message)
    reply = user_messages.take_message(tx, trigger, pressed, dedup_key=dedup_key, random_bits=random_bits)
    sentence = f"Sent: {option.label}" if reply.outcome is IntakeOutcome.RECEIVED else ""
    return PressAnswer(query_id=press.query_id, text=shorten_text(sentence))


def _build_message(press: ButtonPress, option: Button, message: ChannelMessage | None) -> UserMessage:
    """Return a press as a message; `message` is the one that has the button."""
    return UserMessage(
        id=str(press.message_id),
        user=str(press.user),
        text=option.label,
        chat=str(press.chat),
        thread=message.thread if message is not None else None,
        display=press.display,
        handle=press.handle,
        command=None,
        button=option.id,
        metadata={"telegram_callback_id": press.query_id},
    )


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
