"""Buttons on Telegram: only what the gateway made for this chat counts."""

import pytest
from hypothesis import assume, given, strategies as st

from gatepost.channels.telegram.buttons import (
    MAX_DATA_BYTES,
    MAX_LABEL_LENGTH,
    Button,
    DecisionButton,
    PairingButton,
    build_callback_data,
    build_label,
    parse_callback_data,
)
from gatepost.channels.telegram.message_parts import count_units
from gatepost.core.ids import mint
from gatepost.errors import Invalid
from gatepost.gates.decision import MAX_OPTIONS, MAX_ROUNDS
from tests.support.texts import texts

KEY = b"k" * 32
DECISION = mint("dec", 1_700_000_000_000_000, 2**73 + 5)

decision_buttons = st.builds(
    DecisionButton,
    decision=st.builds(mint, st.just("dec"), st.integers(0, 2**50), st.integers(0, 2**74 - 1)),
    option=st.integers(0, MAX_OPTIONS - 1),
    iteration=st.integers(1, MAX_ROUNDS),
)
pairing_buttons = st.builds(
    PairingButton, code=st.from_regex(r"[A-Z0-9]{4,32}", fullmatch=True), is_approval=st.booleans()
)
buttons: st.SearchStrategy[Button] = decision_buttons | pairing_buttons
ids = st.integers(-(2**63), 2**63 - 1)


@given(buttons, st.binary(min_size=16), ids)
def test_a_press_says_which_button_it_was(button: Button, key: bytes, chat: int) -> None:
    data = build_callback_data(button, key, chat=chat)
    assert 1 <= len(data.encode()) <= MAX_DATA_BYTES
    assert parse_callback_data(data, key, chat=chat) == button


@given(buttons, ids, ids)
def test_data_is_worth_nothing_elsewhere(button: Button, chat: int, other_chat: int) -> None:
    data = build_callback_data(button, KEY, chat=chat)
    assert parse_callback_data(data, b"x" * 32, chat=chat) is None
    assume(chat != other_chat)
    assert parse_callback_data(data, KEY, chat=other_chat) is None


@given(buttons, buttons)
def test_the_signature_of_one_button_does_not_fit_another(button: Button, other: Button) -> None:
    assume(button != other)
    data, other_data = (build_callback_data(each, KEY, chat=5) for each in (button, other))
    forged_data = f"{other_data.rpartition(':')[0]}:{data.rpartition(':')[2]}"
    assert parse_callback_data(forged_data, KEY, chat=5) is None


@given(texts)
def test_any_other_data_is_no_button(data: str) -> None:
    assert parse_callback_data(data, KEY, chat=5) is None


def test_one_sign_more_or_less_is_no_button() -> None:
    data = build_callback_data(DecisionButton(decision=DECISION, option=3), KEY, chat=5)
    for changed_data in (data[:-1], f"{data}=", f"{data} ", data.upper(), f" {data}"):
        assert parse_callback_data(changed_data, KEY, chat=5) is None


@pytest.mark.parametrize(
    "button",
    [
        DecisionButton(decision="d_1", option=0),
        DecisionButton(decision=DECISION, option=-1),
        DecisionButton(decision=DECISION, option=MAX_OPTIONS),
        DecisionButton(decision=DECISION, option=0, iteration=0),
        PairingButton(code="a:b:c", is_approval=True),
        PairingButton(code="", is_approval=True),
    ],
)
def test_what_cannot_be_a_button_is_refused(button: Button) -> None:
    with pytest.raises(Invalid):
        build_callback_data(button, KEY, chat=5)


def test_a_label_is_one_short_line() -> None:
    assert build_label("ship\n it ", "1") == "ship it"
    assert build_label("\u200b \n", "1") == "1"
    assert count_units(build_label("😀" * 50, "1")) <= MAX_LABEL_LENGTH
