"""Who may write on a channel."""

from typing import Any

import pytest

from gatepost.channels.access_list import ListVerdict, decide, parse_ids
from gatepost.errors import Invalid


@pytest.mark.parametrize(
    ("source", "ids"),
    [
        ("", ()),
        (" , ", ()),
        ("7", (7,)),
        ("-1001234567890, 7,7\n8;9", (-1001234567890, 7, 8, 9)),
        ([], ()),
        ([-5, "-6", " 7 ", ""], (-5, -6, 7)),
    ],
)
def test_ids_keep_their_sign(source: Any, ids: tuple[int, ...]) -> None:
    assert parse_ids(source) == ids


@pytest.mark.parametrize(
    "source", ["@ana", "1.5", "1-2", "--5", "\u22125", "\u0661", "9223372036854775808", [True], [None], [1.0], [[1]]]
)
def test_what_is_no_id_is_refused(source: Any) -> None:
    with pytest.raises(Invalid, match="is not the id of a chat or a user"):
        parse_ids(source)


@pytest.mark.parametrize(
    ("allow", "block", "chat", "user", "access"),
    [
        ((), (), 1, 2, ListVerdict.UNKNOWN),
        ((9,), (), 1, 2, ListVerdict.UNKNOWN),
        ((1,), (), 1, 2, ListVerdict.ALLOWED),
        ((2,), (), 1, 2, ListVerdict.ALLOWED),
        ((-1,), (), -1, None, ListVerdict.ALLOWED),
        ((1,), (), -1, None, ListVerdict.UNKNOWN),
        ((), (2,), 1, 2, ListVerdict.BLOCKED),
        ((1, 2), (2,), 1, 2, ListVerdict.BLOCKED),
        ((2,), (-1,), -1, 2, ListVerdict.BLOCKED),
        ((2,), (1,), -1, 2, ListVerdict.ALLOWED),
    ],
)
def test_the_block_list_beats_the_allow_list(
    allow: tuple[int, ...], block: tuple[int, ...], chat: int, user: int | None, access: ListVerdict
) -> None:
    assert decide(allow, block, chat, user) is access
    assert decide(frozenset(allow), frozenset(block), chat, user) is access
