"""Users who were let go, persons who have retired, and codes that must not get out, as an attacker would try it."""

from collections.abc import Iterator
from hashlib import sha256

import pytest

from gatepost.actions import channels, decisions, directory, pairing, push
from gatepost.actions.directory import EntitySpec
from gatepost.actions.telegram import UpdateOutcome
from gatepost.core.channel import PairingState
from gatepost.core.decision import Option, Question
from gatepost.core.entity import EntityKind
from gatepost.core.event import EventType, Priority, Push
from gatepost.core.telegram_buttons import DecisionButton
from gatepost.core.trigger import GroupMode
from gatepost.errors import Invalid, NotFound, Refused
from gatepost.testing import Kit
from tests.exports import export_lines, import_lines
from tests.telegram.channel_office import AGENT, VerbOffice, pair
from tests.telegram.verb_updates import (
    EVE,
    GROUP,
    HUSAM,
    ask,
    find_code,
    list_states,
    open_verb_office,
    press,
    sign,
    write,
)


@pytest.fixture(params=["sqlite", "postgres"])
def kit(request: pytest.FixtureRequest) -> Iterator[Kit]:
    url = request.getfixturevalue("empty_postgres_url") if request.param == "postgres" else None
    with Kit(url) as kit:
        yield kit


@pytest.fixture
def office(kit: Kit) -> VerbOffice:
    return open_verb_office(kit)


def test_who_is_let_go_neither_writes_nor_answers_nor_is_answered(kit: Kit, office: VerbOffice) -> None:
    """The old session is there, a question waits in it, and its buttons are signed."""
    paired = pair(kit.store, office.trigger, HUSAM, "husam")
    write(office, HUSAM, "hello")
    [event] = office.list_events()
    question = Question(question="Deploy?", options=(Option(id="yes", label="Yes"),), free_text=True)
    decision = kit.store.run_sync(channels.ask_decision, question, event.id, by=AGENT)
    kit.store.run_sync(pairing.revoke, paired.id, by=None)
    sent = len(office.list_sent())

    assert write(office, HUSAM, "yes").outcome is UpdateOutcome.PAIRING
    assert write(office, HUSAM, "yes", reply_to_message={"message_id": 1}).outcome is UpdateOutcome.PAIRING
    assert press(office, HUSAM, sign(DecisionButton(decision=decision.id, option=0), HUSAM)) == (
        "This question is not for you."
    )
    assert kit.store.read_sync(decisions.show, decision.id).is_open
    assert [event.content for event in office.list_events()] == ["hello"]
    author = kit.store.read_sync(directory.find, AGENT)
    with pytest.raises(Refused, match="cannot be reached: the pairing has ended"):
        kit.store.run_sync(channels.reply, event, "your salary is ...", author)
    with pytest.raises(Refused, match="the pairing has ended"):
        kit.store.run_sync(channels.ask_decision, question, event.id, by=AGENT)
    ask(office, "husam")
    urgent = Push(to="husam", source="test", content="secret", priority=Priority.CRITICAL, dedup_key=None)
    kit.store.run_sync(push.push_event, urgent)
    [code] = office.list_sent()[sent:]
    assert "Your code is" in code


def test_who_was_let_go_may_be_another_person_later(kit: Kit, office: VerbOffice) -> None:
    kit.store.run_sync(directory.register, EntitySpec(name="zoe", kind=EntityKind.HUMAN))
    paired = pair(kit.store, office.trigger, HUSAM, "husam")
    write(office, HUSAM, "as husam")
    kit.store.run_sync(pairing.revoke, paired.id, by=None)
    write(office, HUSAM)
    code = [text for text in office.list_sent() if "Your code" in text][-1].partition("**")[2][:8]
    kit.store.run_sync(pairing.approve, code, by=None, person="zoe")
    write(office, HUSAM, "as zoe")

    assert [event.sender.name for event in office.list_events() if event.sender is not None] == ["husam", "zoe"]
    [session] = kit.store.read_sync(channels.list_sessions)
    assert session.person == "zoe"


def test_a_retired_person_is_nobody_and_gets_no_code(kit: Kit, office: VerbOffice) -> None:
    pair(kit.store, office.trigger, HUSAM, "husam")
    write(office, HUSAM, "hello")
    [event] = office.list_events()
    decision = ask(office, "husam")
    kit.store.run_sync(directory.retire, "husam")
    sent = len(office.list_sent())

    assert write(office, HUSAM, "yes").outcome is UpdateOutcome.PAIRING
    data = sign(DecisionButton(decision=decision, option=0), HUSAM)
    assert press(office, HUSAM, data) == "This question is not for you."
    assert [item.content for item in office.list_events() if item.type is EventType.CHANNEL] == ["hello"]
    assert not any("code" in text for text in office.list_sent()[sent:])
    author = kit.store.read_sync(directory.find, AGENT)
    with pytest.raises(Refused, match="the pairing has ended"):
        kit.store.run_sync(channels.reply, event, "hello", author)


def test_a_code_of_a_group_or_of_a_negative_id_does_not_exist(kit: Kit) -> None:
    office = open_verb_office(kit, groups=GroupMode.ALL)
    write(office, EVE, "hello", GROUP)
    write(office, EVE, "hello", GROUP, sender_chat=GROUP)

    assert list_states(office) == []
    for code in ("-100", "pair_-100", "pair_", f"pair_{'0' * 32}"):
        with pytest.raises((Invalid, NotFound)):
            office.store.run_sync(pairing.approve, code, by=None)


def test_no_export_has_a_code_and_its_import_lets_nobody_in(kit: Kit, office: VerbOffice) -> None:
    """Not in the row of the request, and not in the message by which the user got it."""
    pair(kit.store, office.trigger, HUSAM, "husam")
    write(office, EVE)
    code = find_code(office, EVE)
    digest = sha256(code.encode()).hexdigest()
    exports = [export_lines(kit.store, secrets=secrets) for secrets in (True, False)]
    for lines in exports:
        text = b"".join(lines).decode()
        assert code not in text
        assert digest not in text
        assert "Your code is **" + "***" + "**" in text
    with Kit() as other_kit:
        import_lines(other_kit.store, exports[1])
        entries = other_kit.store.read_sync(pairing.page)
        assert [(entry.user_id, entry.state, entry.person) for entry in entries] == [
            (str(HUSAM), PairingState.APPROVED, "husam"),
            (str(EVE), PairingState.REQUESTED, None),
        ]
        for attempt in (code, "", digest[:8].upper()):
            with pytest.raises((Invalid, NotFound)):
                other_kit.store.run_sync(pairing.approve, attempt, by=None)
        other_kit.store.run_sync(pairing.deny, entries[1].id, by=None)
