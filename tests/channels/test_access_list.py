"""Who may write on a channel."""

import pytest

from gatepost.channels.access_actions import ListVerdict, check_lists
from gatepost.channels.triggers.trigger import TriggerConfig


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
    config = TriggerConfig(allow=allow, block=block)
    assert check_lists(config, str(chat), str(user) if user is not None else None) is access
