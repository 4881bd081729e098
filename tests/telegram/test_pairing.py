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
from gatepost.testing import Kit
from tests.telegram.channel_office import AGENT, TOKEN, ChannelOffice, VerbOffice, open_office, pair
from tests.telegram.server import TelegramServer
from tests.telegram.verb_updates import (
    ADMIN,
    EVE,
    GROUP,
    HUSAM,
    find_code,
    list_states,
    open_verb_office,
    press,
    sign,
    write,
)

POSTGRES_BY_NIGHT = True


def test_an_unknown_user_gets_a_code_once_and_reaches_nobody(office: VerbOffice) -> None:
    assert write(office, EVE).outcome is IntakeOutcome.PAIRING
    assert write(office, EVE, "/start").outcome is IntakeOutcome.PAIRING

    assert len(office.list_sent()) == 1
    assert office.list_events() == []
    [alert] = office.list_events("admin")
    assert "'User 66' (user 66, chat 66) wants to write to the bot 'helper'" in alert.content
    assert find_code(office, EVE) not in alert.content


def test_an_approved_user_writes_as_the_person(office: VerbOffice) -> None:
    write(office, HUSAM)
    office.store.run_sync(pairing.approve, find_code(office, HUSAM).lower(), by="admin", person="husam")
    write(office, HUSAM, "now I am in")

    [event] = office.list_events()
    assert event.sender is not None
    assert (event.sender.name, event.content) == ("husam", "now I am in")


def test_only_the_administrator_approves(office: VerbOffice) -> None:
    write(office, EVE)
    for name in ("husam", AGENT):
        with pytest.raises(Refused, match="cannot pair users"):
            office.store.run_sync(pairing.approve, find_code(office, EVE), by=name)

    assert list_states(office) == [PairingState.REQUESTED]


def test_a_code_counts_once_and_for_an_hour(kit: Kit, office: VerbOffice) -> None:
    write(office, HUSAM)
    used_code = find_code(office, HUSAM)
    office.store.run_sync(pairing.approve, used_code, by=None)
    write(office, EVE)
    kit.clock.advance("61 minutes")

    for code in (used_code, find_code(office, EVE), "AAAAAAAA"):
        with pytest.raises(NotFound, match="no request has this code"):
            office.store.run_sync(pairing.approve, code, by=None)
    for code in ("", "AAAA", "' OR 1=1", "0" * 8):
        with pytest.raises(Invalid, match="is not a code"):
            office.store.run_sync(pairing.approve, code, by=None)


def test_few_requests_wait_so_that_codes_cannot_be_guessed(office: VerbOffice) -> None:
    for user in range(1_000, 1_010):
        write(office, user)

    assert len(list_states(office)) == MAX_PAIRINGS


def test_a_group_gets_no_code(office: VerbOffice) -> None:
    taken = write(office, EVE, "/start", GROUP)

    assert taken.outcome is IntakeOutcome.IGNORED
    assert (office.list_sent(), list_states(office), office.list_events()) == ([], [], [])


def test_a_paired_person_is_the_same_in_a_group_and_others_are_not(kit: Kit) -> None:
    office = open_verb_office(kit, groups=GroupMode.ALL)
    pair(kit.store, office.trigger, HUSAM, "husam")
    write(office, HUSAM, "from me", GROUP)
    write(office, EVE, "from eve", GROUP)

    [event] = office.list_events()
    assert event.sender is not None
    assert (event.sender.name, event.content) == ("husam", "from me")


def test_who_writes_as_a_chat_is_nobody(kit: Kit) -> None:
    office = open_verb_office(kit, groups=GroupMode.ALL, allow=(-100,))
    pair(kit.store, office.trigger, HUSAM, "husam")
    write(office, HUSAM, "anonymous", GROUP, sender_chat=GROUP)

    [event] = office.list_events()
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
    office = open_verb_office(kit, allow=allow, block=block, groups=GroupMode.ALL)

    assert write(office, user, chat=chat).outcome is outcome


def test_a_paired_user_who_is_blocked_later_is_silent(kit: Kit) -> None:
    office = open_verb_office(kit, block=(HUSAM,))
    pair(kit.store, office.trigger, HUSAM, "husam")

    assert write(office, HUSAM).outcome is IntakeOutcome.BLOCKED
    assert office.list_events() == []
    assert press(office, HUSAM, "anything") == ""


def test_an_allowed_user_becomes_a_person_and_takes_nobody_elses_name(kit: Kit) -> None:
    office = open_verb_office(kit, allow=(66, 67, 68))
    for user, name in ((66, "Admin"), (67, "husam"), (68, "All")):
        write(office, user, name=name)

    names = [event.sender.name for event in office.list_events() if event.sender is not None]
    assert names == ["user-66", "user-67", "user-68"]


@pytest.mark.parametrize("allow", [(66,), (-100,)])
def test_a_user_is_one_person_in_groups_and_in_private(kit: Kit, allow: tuple[int, ...]) -> None:
    office = open_verb_office(kit, allow=allow, groups=GroupMode.ALL)
    write(office, EVE, "in the group", GROUP)
    if write(office, EVE, "in private").outcome is IntakeOutcome.PAIRING:
        kit.store.run_sync(pairing.approve, find_code(office, EVE), by=None)
        write(office, EVE, "in private")
    write(office, EVE, "in the group again", GROUP)

    events = office.list_events()
    assert [event.content for event in events] == ["in the group", "in private", "in the group again"]
    assert {event.sender.name for event in events if event.sender is not None} == {"user66"}
    kit.store.run_sync(replies.reply_on_route, events[0], "late", kit.store.read_sync(directory.find, AGENT))
    assert office.list_messages()[-1].chat == str(GROUP["id"])


def test_a_pairing_that_is_revoked_ends(kit: Kit, office: VerbOffice) -> None:
    paired = pair(kit.store, office.trigger, HUSAM, "husam")
    kit.store.run_sync(pairing.revoke, paired.id, by=None)

    assert write(office, HUSAM).outcome is IntakeOutcome.PAIRING
    assert office.list_events() == []


def test_an_administrator_approves_by_a_button_once(kit: Kit, office: VerbOffice) -> None:
    pair(kit.store, office.trigger, ADMIN, "admin")
    write(office, EVE)
    [question] = [message for message in office.list_messages() if message.options]
    assert question.chat == str(ADMIN)
    [request] = [entry for entry in kit.store.read_sync(pairing.page) if entry.user_id == str(EVE)]
    data = sign(PairingButton(code=request.id.removeprefix("pair_"), is_approval=True), ADMIN)

    assert press(office, ADMIN, data).startswith("Approved: User 66 is ")
    assert "is approved already" in press(office, ADMIN, data)
    write(office, EVE, "thanks")
    assert [event.content for event in office.list_events()] == ["thanks"]


def test_nobody_else_approves_by_a_button(kit: Kit, office: VerbOffice) -> None:
    pair(kit.store, office.trigger, ADMIN, "admin")
    pair(kit.store, office.trigger, HUSAM, "husam")
    write(office, EVE)
    [request] = [entry for entry in kit.store.read_sync(pairing.page) if entry.user_id == str(EVE)]
    button = PairingButton(code=request.id.removeprefix("pair_"), is_approval=True)
    refusal = "Only an administrator can do this."

    assert press(office, HUSAM, sign(button, HUSAM)) == refusal
    assert press(office, EVE, sign(button, EVE)) == refusal
    assert press(office, EVE, sign(button, ADMIN)) == "This button is not valid any more.", "forwarded to another chat"
    assert press(office, EVE, sign(button, ADMIN), {"id": ADMIN, "type": "private"}) == refusal
    assert press(office, ADMIN, sign(button, -100), GROUP) == refusal, "in a group"
    forged = build_callback_data(button, b"guessed key", chat=ADMIN)
    assert press(office, ADMIN, forged) == "This button is not valid any more."
    assert press(office, ADMIN, "p:a:0:x") == "This button is not valid any more."
    [state] = [entry.state for entry in kit.store.read_sync(pairing.page) if entry.user_id == str(EVE)]
    assert state is PairingState.REQUESTED


def test_a_request_that_has_expired_cannot_be_approved_by_its_button(kit: Kit, office: VerbOffice) -> None:
    pair(kit.store, office.trigger, ADMIN, "admin")
    write(office, EVE)
    [request] = [entry for entry in kit.store.read_sync(pairing.page) if entry.user_id == str(EVE)]
    kit.clock.advance("2 hours")
    data = sign(PairingButton(code=request.id.removeprefix("pair_"), is_approval=True), ADMIN)

    assert "is expired already" in press(office, ADMIN, data)


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
async def live_office(tmp_path: Path) -> AsyncIterator[ChannelOffice]:
    with TelegramServer(has_limits=False) as server:
        async with open_office(server, f"sqlite:///{tmp_path}/gatepost.db") as office:
            yield office


async def test_the_whole_way_from_a_code_to_an_answer(live_office: ChannelOffice) -> None:
    server = live_office.telegram
    boss, ana = server.add_user(ADMIN, "Boss"), server.add_user(7, "Ana", "ana")
    server.open_chat(boss)
    live_office.pair(boss, "admin")
    server.send_text(ana, "/start")
    [code] = await live_office.wait_for_sent(ana, 1)
    *_, question = await live_office.wait_for_sent(boss, 2)

    assert "Your code is" in code.text
    assert question.text == "'Ana (@ana)' (user 7, chat 7) wants to write to the bot 'helper'"
    assert [button["text"] for button in question.buttons] == ["Approve", "Deny"]
    server.press(ana, question, "Approve")
    await server.wait_until(lambda: not server.unanswered_queries)
    server.press(boss, question, "Approve")
    await live_office.wait_for_sent(ana, 2)
    await server.wait_until(lambda: question.edits)
    server.send_text(ana, "hello")
    [event] = await live_office.wait_for_events(1)

    assert not question.buttons
    assert "Approved: Ana (@ana) is ana" in question.text
    assert event.sender is not None
    assert event.sender.name == "ana"
    live_office.reply(event, "Hello **Ana**")
    *_, answer = await live_office.wait_for_sent(ana, 3)
    assert answer.text == "Hello Ana"
    assert server.refusals == []


def test_errors_of_pairing_are_sentences(office: VerbOffice) -> None:
    with pytest.raises(GatepostError):
        office.store.run_sync(pairing.approve, f"pair_{'0' * 32}", by=None)
    with pytest.raises((NotFound, Conflict)):
        office.store.run_sync(pairing.revoke, f"pair_{'0' * 32}", by=None)
    assert office.store.read_sync(conversations.list_sessions) == []
