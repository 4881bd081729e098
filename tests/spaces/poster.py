"""A process that posts to a space from many tasks at once, and prints the numbers it was given."""

import asyncio
import json
import sys

from gatepost.app import open_store
from gatepost.core.ports import Store
from gatepost.spaces import actions as spaces


async def post_messages(store: Store, space: str, senders: list[str], rounds: int) -> list[int]:
    """Let everybody post at once, each one message after the other; return the numbers in the order of the answers."""
    seqs: list[int] = []

    async def post_in_turn(sender: str, number: int) -> None:
        for round_number in range(rounds):
            message = await store.run(
                spaces.post, space, sender=sender, content=f"{sender} {number}.{round_number}", lane=f"space:{space}"
            )
            seqs.append(message.seq)

    async with asyncio.TaskGroup() as group:
        for number, sender in enumerate(senders):
            group.create_task(post_in_turn(sender, number))
    return seqs


def main(url: str, space: str, senders: str, rounds: str) -> None:
    store = open_store(url)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    try:
        json.dump(asyncio.run(post_messages(store, space, senders.split(","), int(rounds))), sys.stdout)
    finally:
        store.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
