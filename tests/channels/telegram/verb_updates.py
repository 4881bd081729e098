"""Updates of people, for the verbs: what they write, and the buttons that they press."""

from typing import Any

from gatepost.channels import pairing_actions as pairing
from gatepost.channels.conversation import PairingState
from gatepost.channels.pairing_actions import CODE_ALPHABET
from gatepost.channels.telegram.buttons import Button, build_callback_data
from gatepost.channels.telegram.update_actions import TakenUpdate
from gatepost.channels.user_message_actions import IntakeOutcome
from gatepost.gates import decision_actions as decisions
from gatepost.gates.decision import Option, Question
from gatepost.testing import Kit
from tests.channels.telegram.channel_setup import AGENT, TOKEN, VerbSetup, build_profile, set_up_store

ADMIN, EVE, HUSAM = 11, 66, 9
GROUP = {"id": -100, "type": "supergroup", "title": "Team"}


def open_verb_setup(kit: Kit, **config: Any) -> VerbSetup:
    return VerbSetup(store=kit.store, trigger=set_up_store(kit.store, TOKEN, **config), bot=build_profile())


class Messages:
    """Numbers updates."""

    number = 0


def write(
    setup: VerbSetup,
    user: int,
    text: str = "hello",
    chat: dict[str, Any] | None = None,
    *,
    name: str = "",
    **fields: Any,
) -> TakenUpdate:
    Messages.number += 1
    message = {
        "message_id": Messages.number,
        "date": 1_700_000_000,
        "from": {"id": user, "first_name": name or f"User {user}"},
        "chat": chat or {"id": user, "type": "private"},
        "text": text,
        **fields,
    }
    [taken] = setup.take({"update_id": Messages.number, "message": message})
    return taken


def press(setup: VerbSetup, user: int, data: str, chat: dict[str, Any] | None = None, message: int = 1) -> str:
    """Press a button; return the answer that the user sees."""
    Messages.number += 1
    query = {
        "id": str(Messages.number),
        "from": {"id": user, "first_name": f"User {user}"},
        "data": data,
        "message": {"message_id": message, "date": 1, "chat": chat or {"id": user, "type": "private"}},
    }
    [taken] = setup.take({"update_id": Messages.number, "callback_query": query})
    assert taken.outcome is IntakeOutcome.PRESS
    assert taken.answer is not None, "every press is answered"
    assert taken.answer.query_id == query["id"]
    return taken.answer.text


def sign(button: Button, chat: int) -> str:
    return build_callback_data(button, build_profile().keys.button_key, chat=chat)


def find_code(setup: VerbSetup, user: int) -> str:
    [text] = [
        message.content for message in setup.list_messages() if message.chat == str(user) and "code" in message.content
    ]
    code = text.partition("**")[2].partition("**")[0]
    assert set(code) <= set(CODE_ALPHABET)
    return str(code)


def list_states(setup: VerbSetup) -> list[PairingState]:
    return [entry.state for entry in setup.store.read_sync(pairing.list_page)]


def ask(setup: VerbSetup, *respondents: str) -> str:
    options = (Option(id="yes", label="Yes"), Option(id="no", label="No"))
    question = Question(question="Deploy?", options=options, respondents=respondents)
    return setup.store.run_sync(decisions.ask, question, by=AGENT).id
