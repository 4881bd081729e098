"""The files of the local network: a test that is about it alone runs by day if one of them has changed."""

from typing import Final

FAKE: Final = tuple(
    f"tests/ledger/hedera/network/{file}.py"
    for file in (
        *("node", "services", "prechecks", "execution", "state", "keys", "transactions", "protobufs"),
        *("mirror", "mirror_query", "mirror_rows"),
    )
)
