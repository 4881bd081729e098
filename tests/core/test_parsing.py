"""Names, addresses, ids, durations and times: what is accepted comes back the same, the rest is refused."""

import re
import string
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import assume, example, given, strategies as st

from gatepost.core import address, ids, times
from gatepost.core.address import AllAgentsAddress, EntityAddress, TeamAddress
from gatepost.core.times import DAY, MAX_INSTANT, format_duration, format_rfc3339, parse_duration, parse_instant
from gatepost.errors import Invalid
from gatepost.inbox.event import EventType, ItemState, Priority, Ref, Trust
from tests.support.texts import texts

LETTERS = string.ascii_lowercase + string.digits
names = st.builds(str.__add__, st.sampled_from(LETTERS), st.text(LETTERS + "._-", max_size=62)).filter(
    lambda name: name != "all"
)
aliases = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,20}", fullmatch=True).filter(
    lambda text: text.lower() != "all" and not text.lower().startswith("team:")
)
odd_texts = texts.filter(lambda text: not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}", text))


@given(names)
def test_a_name_is_an_address_and_may_be_an_alias(name: str) -> None:
    assert address.check_name(name) == address.check_alias(name) == name
    assert address.parse(name) == EntityAddress(name)


@given(names, st.none() | names)
def test_an_address_comes_back_as_it_was_written(team: str, role: str | None) -> None:
    team_address = TeamAddress(team, role)
    assert address.parse(str(team_address)) == team_address
    assert address.parse(str(AllAgentsAddress())) == address.parse("ALL") == AllAgentsAddress()


@given(aliases)
def test_an_alias_is_an_address(alias: str) -> None:
    assert address.parse(address.check_alias(alias)) == EntityAddress(alias)


@given(odd_texts)
@example("")
@example("a\n")
@example("a" * 64)
@example("Ann")
@example(".ann")
@example("ánn")
@example("\uff11")
def test_what_cannot_be_a_name_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        address.check_name(text)


@given(odd_texts.filter(lambda text: text != "*"))
@example("team:")
@example("team:x/")
@example("team:/x")
@example("team:x/y/z")
@example("team:all")
@example("x" * 129)
def test_what_cannot_be_an_address_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        address.parse(text)


@pytest.mark.parametrize("text", ["ALL", "all", "All", "*", "team:x", "", "x y", "x" * 129, "é"])
def test_no_alias_reads_like_another_address(text: str) -> None:
    with pytest.raises(Invalid):
        address.check_alias(text)


@given(st.sampled_from(sorted(ids.PREFIXES)), st.integers(0, MAX_INSTANT), st.integers(min_value=0))
def test_an_id_says_what_it_is_and_when_it_was_made(prefix: str, now: int, entropy: int) -> None:
    id = ids.mint(prefix, now, entropy)
    assert ids.check(prefix, id) == id
    number = uuid.UUID(id.removeprefix(f"{prefix}_"))
    assert (number.version, number.variant) == (7, uuid.RFC_4122)
    assert number.int >> 80 == now // 1_000


@given(st.integers(0, MAX_INSTANT), st.integers(0, 2**74 - 1), st.integers(0, 2**74 - 1))
def test_ids_differ_where_their_entropy_does(now: int, first_entropy: int, second_entropy: int) -> None:
    assume(first_entropy != second_entropy)
    assert ids.mint("evt", now, first_entropy) != ids.mint("evt", now, second_entropy)


@given(st.integers(0, MAX_INSTANT - 1_000), st.integers(1_000, DAY), st.integers(0, 2**74), st.integers(0, 2**74))
def test_ids_sort_by_time(now: int, later: int, first_entropy: int, second_entropy: int) -> None:
    assert ids.mint("evt", now, first_entropy) < ids.mint("evt", now + later, second_entropy)


@given(texts)
@example("evt_" + "0" * 31)
@example("evt_" + "0" * 33)
@example("evt_" + "G" * 32)
@example("evt_" + "A" * 32)
@example("msg_" + "0" * 32)
@example("evt_" + "0" * 32 + "\n")
def test_what_is_not_an_id_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        ids.check("evt", text)


def test_an_id_of_something_else_is_recognised_as_such() -> None:
    with pytest.raises(Invalid, match="is the id of a claim, not of an event"):
        ids.check("evt", ids.mint("clm", 0, 0))


@given(st.integers(1, 5_000), st.sampled_from(["ms", "s", "m", "h", "d", "w"]), st.sampled_from(["", " "]))
def test_a_duration_comes_back_as_short_as_it_can_be(number: int, unit: str, space: str) -> None:
    length = parse_duration(f"{number}{space}{unit}")
    assert parse_duration(format_duration(length)) == length


@given(st.integers(1, 100 * 365 * DAY // 1_000))
def test_every_millisecond_can_be_written(millis: int) -> None:
    text = format_duration(millis * 1_000)
    assume(len(re.match("[0-9]+", text)[0]) <= 9)  # type: ignore[index]
    assert parse_duration(text) == millis * 1_000


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("90s", 90_000_000),
        ("10m", 600_000_000),
        ("5 hours", 5 * times.HOUR),
        ("1 day", DAY),
        ("2w", 14 * DAY),
        (" 1 minute ", times.MINUTE),
        ("250ms", 250_000),
    ],
)
def test_known_durations(text: str, length: int) -> None:
    assert parse_duration(text) == length


@pytest.mark.parametrize(
    "text",
    [
        "0s",
        "-1s",
        "+1s",
        "1.5h",
        "10",
        "s",
        "1h30m",
        "5  hours",
        "10M",
        "1 fortnight",
        "9999999999s",
        "101 years",
        "5200w1d",
        "36501d",
        "٣s",
        "1e3s",
        "1\ns",
    ],
)
def test_nothing_is_guessed_of_a_duration(text: str) -> None:
    with pytest.raises(Invalid):
        parse_duration(text)


@given(texts.filter(lambda text: not re.match(r"\s*[0-9]", text)))
def test_what_is_not_a_duration_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        parse_duration(text)


@given(st.integers(0, MAX_INSTANT))
def test_an_instant_comes_back(moment: int) -> None:
    assert parse_instant(format_rfc3339(moment)) == moment


@given(
    st.datetimes(datetime(1970, 1, 2), datetime(9999, 12, 30)),  # noqa: DTZ001
    st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes))),
)
def test_an_offset_is_taken_into_account(moment: datetime, zone: timezone) -> None:
    local_time = moment.replace(tzinfo=UTC).astimezone(zone)
    assert parse_instant(local_time.isoformat()) == parse_instant(moment.isoformat() + "Z")


@given(texts)
@example("2026-02-18T15:07:00")
@example("2026-02-18")
@example("15:07Z")
@example("2026-02-30T15:07:00Z")
@example("0001-01-01T00:00:00+23:59")
@example("9999-12-31T23:59:59-23:59")
@example("1969-12-31T23:59:59Z")
def test_what_is_not_a_time_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        parse_instant(text)


@pytest.mark.parametrize(("text", "priority"), [("0", 0), ("critical", 0), ("NORMAL", 2), (" fyi ", 4), (3, 3)])
def test_known_priorities(text: str | int, priority: int) -> None:
    assert Priority.parse(text) == priority


@pytest.mark.parametrize("text", ["", "5", "-1", "urgent", "1.0", "٢", None, True])
def test_what_is_not_a_priority_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        Priority.parse(text)


@pytest.mark.parametrize("parse", [EventType.parse, Trust.parse, ItemState.parse, Ref.parse])
@pytest.mark.parametrize("text", ["", "nonsense", ":", "a:", ":b", "EVENT"])
def test_what_is_not_on_the_list_is_refused(parse: Callable[[str], object], text: str) -> None:
    with pytest.raises(Invalid):
        parse(text)


@pytest.mark.parametrize("text", ["task:0.0.123", "a:b:c"])
def test_a_reference_comes_back(text: str) -> None:
    assert str(Ref.parse(text)) == text
