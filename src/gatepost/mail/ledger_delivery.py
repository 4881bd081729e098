"""
Which ledger there is, what is posted to it, and which mail waits for that: the settings decide.

The ledger itself reacts to what is sent, and finds the connection to an agent outside (`reactions.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from gatepost.core.address import EntityAddress
from gatepost.core.ports import Reader
from gatepost.directory.entity import Entity
from gatepost.inbox.event import Priority
from gatepost.mail.sent_record import Mail, PostState
from gatepost.mail.work_item import Note, WorkEvent, WorkItem
from gatepost.reactions import RoomQuestion

#: the ledger in the store
LOCAL: Final = "local"


def get_network(url: str) -> str | None:
    """Return the ledger of a setting: `local`, or the network of Hedera; None for `off`."""
    scheme, _, network = url.partition(":")
    return None if scheme == "off" else network or scheme


def find_network(tx: Reader) -> str | None:
    """Return the ledger that is set: `local`, or a network of Hedera; None if there is none."""
    return get_network(tx.policy.ledger)


def find_public_network(tx: Reader) -> str | None:
    """Return the network of Hedera that is set; None if there is none."""
    network = find_network(tx)
    return None if network == LOCAL else network


def find_post_state(tx: Reader, kind: str) -> PostState | None:
    """Return the first state of a new record: `unposted`, or None if `mail`, `notes` or `events` are not posted."""
    return PostState.UNPOSTED if find_network(tx) is not None and kind in tx.policy.ledger_post else None


def is_awaited(tx: Reader, priority: Priority) -> bool:
    """Return True if mail of this priority waits until it is on the ledger: all but urgent mail on a public one."""
    is_public = find_public_network(tx) is not None
    return is_public and "mail" in tx.policy.ledger_post and priority > Priority.HIGH


def is_posted_at_once(tx: Reader) -> bool:
    """Return True if the transaction that sends also posts: to the ledger in the store."""
    return find_network(tx) == LOCAL


@dataclass(frozen=True, slots=True)
class FindOutsider(RoomQuestion[str | None]):
    """
    The name of the agent outside that an address is of, None if it is not of one. It is refused if the author has no
    open connection with that agent.
    """

    target: EntityAddress
    author: Entity


class MailSent(NamedTuple):
    mail: Mail
    sender: Entity
    #: their names; none if it is mail to every agent
    recipients: Sequence[str]


class WorkPosted(NamedTuple):
    """A note or an event of a work item, which is not on the ledger yet."""

    post: Note | WorkEvent
    author: Entity
    item: WorkItem
