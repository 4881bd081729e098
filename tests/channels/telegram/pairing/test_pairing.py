"""Who may write to a bot, and who may let others in, as an attacker would try it."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from gatepost.channels import (
    conversation_actions as conversations,
    pairing_actions as pairing,
    reply_actions as replies,
)
from gatepost.channels.conversation import PairingState
from gatepost.channels.pairing_actions import MAX_PAIRINGS
from gatepost.channels.telegram.bot_port import derive_keys, is_webhook_secret
from gatepost.channels.telegram.buttons import PairingButton, build_callback_data
from gatepost.channels.triggers import actions as triggers
from gatepost.channels.triggers.actions import TriggerSpec
from gatepost.channels.triggers.trigger import GroupMode, TriggerConfig
from gatepost.channels.user_message_actions import IntakeOutcome
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import Conflict, GatepostError, Invalid, NotFound, Refused
from gatepost.inbox import claim_actions as claims
from gatepost.testing import Kit
from tests.channels.telegram.bot_api.server import TelegramServer
from tests.channels.telegram.channel_setup import AGENT, TOKEN, ChannelSetup, VerbSetup, open_channel_setup, pair
from tests.channels.telegram.verb_updates import (
    ADMIN,
    EVE,
    GROUP,
    HUSAM,
    find_code,
    list_states,
    open_verb_setup,
    press,
    sign,
    write,
)

POSTGRES_BY_NIGHT = True


def test_an_unknown_user_gets_a_code_once_and_reaches_nobody(setup: VerbSetup) -> None:
    assert write(setup, EVE).outcome is IntakeOutcome.PAIRING
    assert write(setup, EVE, "/start").outcome is IntakeOutcome.PAIRING

    assert len(setup.list_sent()) == 1
    assert setup.list_events() == []
    [alert] = setup.list_events("admin")
    assert "'User 66' (user 66, chat 66) wants to write to the bot 'helper'" in alert.content
    assert find_code(setup, EVE) not in alert.content


def test_an_approved_user_writes_as_the_person(setup: VerbSetup) -> None:
    write(setup, HUSAM)
    setup.store.run_sync(pairing.approve, find_code(setup, HUSAM).lower(), by="admin", person="husam")
    write(setup, HUSAM, "now I am in")

    [event] = setup.list_events()
    assert event.sender is not None
    assert (event.sender.name, event.content) == ("husam", "now I am in")


@pytest.mark.parametrize("verb", [pairing.approve, pairing.deny])
def test_the_alert_goes_away_when_the_request_is_decided(setup: VerbSetup, verb: Any) -> None:
    write(setup, HUSAM)
    write(setup, EVE)
    assert len(setup.store.read_sync(claims.peek, "admin")) == 2
    setup.store.run_sync(verb, find_code(setup, HUSAM), by="admin")
    [alert] = setup.store.read_sync(claims.peek, "admin")
    assert "'User 66'" in alert.event.content


def test_only_the_administrator_approves(setup: VerbSetup) -> None:
    write(setup, EVE)
    for name in ("husam", AGENT):
        with pytest.raises(Refused, match="cannot pair users"):
            setup.store.run_sync(pairing.approve, find_code(setup, EVE), by=name)

    assert list_states(setup) == [PairingState.REQUESTED]


def test_a_code_counts_once_and_for_an_hour(kit: Kit, setup: VerbSetup) -> None:
    write(setup, HUSAM)
    used_code = find_code(setup, HUSAM)
    setup.store.run_sync(pairing.approve, used_code, by=None)
    write(setup, EVE)
    kit.clock.advance("61 minutes")

    for code in (used_code, find_code(setup, EVE), "AAAAAAAA"):
        with pytest.raises(NotFound, match="no request has this code"):
            setup.store.run_sync(pairing.approve, code, by=None)
    for code in ("", "AAAA", "' OR 1=1", "0" * 8):
        with pytest.raises(Invalid, match="is not a code"):
            setup.store.run_sync(pairing.approve, code, by=None)


def test_few_requests_wait_so_that_codes_cannot_be_guessed(setup: VerbSetup) -> None:
    for user in range(1_000, 1_010):
        write(setup, user)

    assert len(list_states(setup)) == MAX_PAIRINGS


def test_a_group_gets_no_code(setup: VerbSetup) -> None:
    taken = write(setup, EVE, "/start", GROUP)

    assert taken.outcome is IntakeOutcome.IGNORED
    assert (setup.list_sent(), list_states(setup), setup.list_events()) == ([], [], [])


def test_a_paired_person_is_the_same_in_a_group_and_others_are_not(kit: Kit) -> None:
    setup = open_verb_setup(kit, groups=GroupMode.ALL)
    pair(kit.store, setup.trigger, HUSAM, "husam")
    write(setup, HUSAM, "from me", GROUP)
    write(setup, EVE, "from eve", GROUP)

    [event] = setup.list_events()
    assert event.sender is not None
    assert (event.sender.name, event.content) == ("husam", "from me")


def test_who_writes_as_a_chat_is_nobody(kit: Kit) -> None:
    setup = open_verb_setup(kit, groups=GroupMode.ALL, allow=(-100,))
    pair(kit.store, setup.trigger, HUSAM, "husam")
    write(setup, HUSAM, "anonymous", GROUP, sender_chat=GROUP)

    [event] = setup.list_events()
    assert event.sender is None
    assert isinstance(event.data, dict)
    assert event.data["senderName"] == "Team"


@pytest.mark.parametrize(
    ("allow", "block", "user", "chat", "outcome"),
    [
        ((66,), (66,), 66, None, IntakeOutcome.BLOCKED),
        ((-100,), (66,), 66, GROUP, IntakeOutcome.BLOCKED),
        ((66,), (-100,), 66, GROUP, IntakeOutcome.BLOCKED),
        ((66,), (), 66, None, IntakeOutcome.RECEIVED),
        ((-66,), (), 66, None, IntakeOutcome.PAIRING),
        ((), (-66,), 66, None, IntakeOutcome.PAIRING),
        ((100,), (), 66, GROUP, IntakeOutcome.IGNORED),
        ((-100,), (), 66, GROUP, IntakeOutcome.RECEIVED),
    ],
)
def test_the_block_list_beats_the_allow_list_and_the_sign_counts(
    kit: Kit,
    allow: tuple[int, ...],
    block: tuple[int, ...],
    user: int,
    chat: dict[str, Any] | None,
    outcome: IntakeOutcome,
) -> None:
    setup = open_verb_setup(kit, allow=allow, block=block, groups=GroupMode.ALL)

    assert write(setup, user, chat=chat).outcome is outcome


def test_a_paired_user_who_is_blocked_later_is_silent(kit: Kit) -> None:
    setup = open_verb_setup(kit, block=(HUSAM,))
    pair(kit.store, setup.trigger, HUSAM, "husam")

    assert write(setup, HUSAM).outcome is IntakeOutcome.BLOCKED
    assert setup.list_events() == []
    assert press(setup, HUSAM, "anything") == ""


def test_an_allowed_user_becomes_a_person_and_takes_nobody_elses_name(kit: Kit) -> None:
    setup = open_verb_setup(kit, allow=(66, 67, 68))
    for user, name in ((66, "Admin"), (67, "husam"), (68, "All")):
        write(setup, user, name=name)

    names = [event.sender.name for event in setup.list_events() if event.sender is not None]
    assert names == ["user-66", "user-67", "user-68"]


@pytest.mark.parametrize("allow", [(66,), (-100,)])
def test_a_user_is_one_person_in_groups_and_in_private(kit: Kit, allow: tuple[int, ...]) -> None:
    setup = open_verb_setup(kit, allow=allow, groups=GroupMode.ALL)
    write(setup, EVE, "in the group", GROUP)
    if write(setup, EVE, "in private").outcome is IntakeOutcome.PAIRING:
        kit.store.run_sync(pairing.approve, find_code(setup, EVE), by=None)
        write(setup, EVE, "in private")
    write(setup, EVE, "in the group again", GROUP)

    events = setup.list_events()
    assert [event.content for event in events] == ["in the group", "in private", "in the group again"]
    assert {event.sender.name for event in events if event.sender is not None} == {"user66"}
    kit.store.run_sync(replies.reply_on_route, events[0], "late", kit.store.read_sync(directory.find, AGENT))
    assert setup.list_messages()[-1].chat == str(GROUP["id"])


def test_a_pairing_that_is_revoked_ends(kit: Kit, setup: VerbSetup) -> None:
    paired = pair(kit.store, setup.trigger, HUSAM, "husam")
    kit.store.run_sync(pairing.revoke, paired.id, by=None)

    assert write(setup, HUSAM).outcome is IntakeOutcome.PAIRING
    assert setup.list_events() == []


def test_an_administrator_approves_by_a_button_once(kit: Kit, setup: VerbSetup) -> None:
    pair(kit.store, setup.trigger, ADMIN, "admin")
    write(setup, EVE)
    [question] = [message for message in setup.list_messages() if message.options]
    assert question.chat == str(ADMIN)
    [request] = [entry for entry in kit.store.read_sync(pairing.list_page) if entry.user_id == str(EVE)]
    data = sign(PairingButton(code=request.id.removeprefix("pair_"), is_approval=True), ADMIN)

    assert press(setup, ADMIN, data).startswith("Approved: User 66 is ")
    assert "is approved already" in press(setup, ADMIN, data)
    write(setup, EVE, "thanks")
    assert [event.content for event in setup.list_events()] == ["thanks"]


def test_nobody_else_approves_by_a_button(kit: Kit, setup: VerbSetup) -> None:
    pair(kit.store, setup.trigger, ADMIN, "admin")
    pair(kit.store, setup.trigger, HUSAM, "husam")
    write(setup, EVE)
    [request] = [entry for entry in kit.store.read_sync(pairing.list_page) if entry.user_id == str(EVE)]
    button = PairingButton(code=request.id.removeprefix("pair_"), is_approval=True)
    refusal = "Only an administrator can do this."

    assert press(setup, HUSAM, sign(button, HUSAM)) == refusal
    assert press(setup, EVE, sign(button, EVE)) == refusal
    assert press(setup, EVE, sign(button, ADMIN)) == "This button is not valid any more.", "forwarded to another chat"
    assert press(setup, EVE, sign(button, ADMIN), {"id": ADMIN, "type": "private"}) == refusal
    assert press(setup, ADMIN, sign(button, -100), GROUP) == refusal, "in a group"
    forged = build_callback_data(button, b"guessed key", chat=ADMIN)
    assert press(setup, ADMIN, forged) == "This button is not valid any more."
    assert press(setup, ADMIN, "p:a:0:x") == "This button is not valid any more."
    [state] = [entry.state for entry in kit.store.read_sync(pairing.list_page) if entry.user_id == str(EVE)]
    assert state is PairingState.REQUESTED


def test_a_request_that_has_expired_cannot_be_approved_by_its_button(kit: Kit, setup: VerbSetup) -> None:
    pair(kit.store, setup.trigger, ADMIN, "admin")
    write(setup, EVE)
    [request] = [entry for entry in kit.store.read_sync(pairing.list_page) if entry.user_id == str(EVE)]
    kit.clock.advance("2 hours")
    data = sign(PairingButton(code=request.id.removeprefix("pair_"), is_approval=True), ADMIN)

    assert "is expired already" in press(setup, ADMIN, data)


def test_a_bot_needs_a_token_and_an_empty_secret_is_none(kit: Kit) -> None:
    kit.store.run_sync(directory.register, EntitySpec(name="admin", kind=EntityKind.HUMAN))
    for secret in (None, ""):
        spec = TriggerSpec(name="helper", provider="telegram", secret=secret, config=TriggerConfig())
        with pytest.raises(Invalid, match="a bot needs a token"):
            kit.store.run_sync(triggers.add, spec)
    for token in ("", "short"):
        with pytest.raises(Invalid, match="too short"):
            derive_keys(token)
    keys = derive_keys(TOKEN)
    assert len(keys.webhook_secret) >= 16
    assert not is_webhook_secret(keys, "")
    assert not is_webhook_secret(keys, "\udcff")
    assert is_webhook_secret(keys, keys.webhook_secret)
    assert TOKEN not in repr(keys)


@pytest.fixture
async def live_setup(tmp_path: Path) -> AsyncIterator[ChannelSetup]:
    with TelegramServer(has_limits=False) as server:
        async with open_channel_setup(server, f"sqlite:///{tmp_path}/gatepost.db") as setup:
            yield setup


async def test_the_whole_way_from_a_code_to_an_answer(live_setup: ChannelSetup) -> None:
    server = live_setup.telegram
    boss, ana = server.add_user(ADMIN, "Boss"), server.add_user(7, "Ana", "ana")
    server.open_chat(boss)
    live_setup.pair(boss, "admin")
    server.send_text(ana, "/start")
    [code] = await live_setup.wait_for_sent(ana, 1)
    *_, question = await live_setup.wait_for_sent(boss, 2)

    assert "Your code is" in code.text
    assert question.text == "'Ana (@ana)' (user 7, chat 7) wants to write to the bot 'helper'"
    assert [button["text"] for button in question.buttons] == ["Approve", "Deny"]
    server.press(ana, question, "Approve")
    await server.wait_until(lambda: not server.unanswered_queries)
    server.press(boss, question, "Approve")
    await live_setup.wait_for_sent(ana, 2)
    await server.wait_until(lambda: question.edits)
    server.send_text(ana, "hello")
    [event] = await live_setup.wait_for_events(1)

    assert not question.buttons
    assert "Approved: Ana (@ana) is ana" in question.text
    assert event.sender is not None
    assert event.sender.name == "ana"
    live_setup.reply(event, "Hello **Ana**")
    *_, answer = await live_setup.wait_for_sent(ana, 3)
    assert answer.text == "Hello Ana"
    assert server.refusals == []


def test_errors_of_pairing_are_sentences(setup: VerbSetup) -> None:
    with pytest.raises(GatepostError):
        setup.store.run_sync(pairing.approve, f"pair_{'0' * 32}", by=None)
    with pytest.raises((NotFound, Conflict)):
        setup.store.run_sync(pairing.revoke, f"pair_{'0' * 32}", by=None)
    assert setup.store.read_sync(conversations.list_sessions) == []
