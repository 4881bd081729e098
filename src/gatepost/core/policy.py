"""
The policy of an installation: its limits, and the settings by which verbs decide; they read it from `tx.policy`.

It is a named tuple, because a hook with nothing to do opens a store, and dataclasses would take a fifth of its time.
"""

from collections.abc import Sequence
from typing import NamedTuple

from gatepost.core.times import DAY, MINUTE, Duration


class Policy(NamedTuple):
    """What one installation allows, and how long it waits."""

    #: how long an item stays visible after its end, and its dedup key known
    remember: Duration = DAY
    #: failures after which an item is dead
    attempts: int = 5
    #: how long an urgent item may wait for a session of a guest before its owner is told
    wake_patience: Duration = 2 * MINUTE
    #: how long an fyi item may wait before it wakes its recipient
    fyi_wait: Duration = DAY
    #: how long a drain may take before another drain gets its items
    hold: Duration = MINUTE
    #: hops after which an event no longer wakes its recipient
    hops: int = 16
    #: bytes of content, as UTF-8
    content: int = 256 * 1024
    #: bytes of data, as JSON
    data: int = 1024 * 1024
    #: pending plans of one entity
    plans: int = 1_000
    #: pending gates of one entity
    gates: int = 1_000
    #: open work items that one entity has added
    work_items: int = 1_000
    #: broadcasts of one entity in 24 hours
    broadcasts: int = 100
    #: mails, notes and work events of one entity in 24 hours
    sent: int = 10_000
    #: free bytes of the disk below which nothing new is stored
    reserve: int = 64 * 1024 * 1024
    #: whether gates may run commands
    can_run_commands: bool = False
    #: the repositories on GitHub (`owner/name`) that `ci` gates may ask about
    allowed_repositories: Sequence[str] = ()
    #: whether a command runs when a decision is answered
    has_answer_command: bool = False
    #: where what is sent is recorded: `off`, `local:`, `hedera:testnet` or `hedera:mainnet`
    ledger: str = "local:"
    #: what is posted on it: `mail`, `notes`, `events`
    ledger_post: Sequence[str] = ("mail", "notes", "events")
    #: how long mail waits for a public ledger before it goes to the inbox directly
    ledger_patience: Duration = MINUTE
    #: messages that one agent outside may send in an hour
    ledger_hourly: int = 60
    #: the capability codes (HCS-11) of agents, by role
    ledger_capabilities: Sequence[tuple[str, tuple[int, ...]]] = ()
    #: who gets which events of work items: pattern, addresses and priority (`mail/work_item.py`)
    work_notify: Sequence[tuple[str, Sequence[str], int]] = (
        ("*.blocked", ("@maker", "admin"), 0),
        ("task.complete", ("@maker",), 2),
        ("phase.complete", ("@maker",), 1),
    )
    #: whether a note or an event adds its work item if nobody has
    work_auto_add: bool = True
    #: the least urgent priority (`inbox/event.py`) of inbox items that a person also gets in paired chats
    channel_notify: int = 1
    #: whether voice messages can be transcribed, and how long one waits for its transcript
    has_speech: bool = False
    speech_patience: Duration = 2 * MINUTE
