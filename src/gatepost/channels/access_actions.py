"""
Who may write on a channel: what the lists of a trigger say, who a user is, and whether a chat may be written to.

The lists have ids of users and of chats together, as whole numbers with a sign. The id of a group is negative.

    on the block list              blocked, even if it is on the other list too
    on the allow list              allowed
    on neither, or no lists        unknown: pairing decides

A message counts as listed if its user or its chat is. So a blocked user stays blocked in an allowed group, and an
allowed group lets all its members write.

All of it is asked again whenever something comes in or goes out: a pairing ends, a list changes and a person retires
while messages wait to be sent.
"""

from enum import StrEnum

from gatepost.channels import conversation_actions as conversations
from gatepost.channels.conversation import PairingState
from gatepost.channels.triggers.trigger import Trigger, TriggerConfig
from gatepost.core.ports import Reader
from gatepost.directory import entity_actions as directory


class ListVerdict(StrEnum):
    ALLOWED = "allowed"
    BLOCKED = "blocked"
    #: no list says anything
    UNKNOWN = "unknown"


def check_lists(config: TriggerConfig, chat: str, user_id: str | None) -> ListVerdict:
    """Return what the lists of a trigger say about a user in a chat; without a user only the chat counts."""
    ids = {chat} if user_id is None else {chat, user_id}
    if not ids.isdisjoint(map(str, config.block)):
        return ListVerdict.BLOCKED
    return ListVerdict.UNKNOWN if ids.isdisjoint(map(str, config.allow)) else ListVerdict.ALLOWED


def find_person(tx: Reader, trigger: Trigger, chat: str, user_id: str) -> str | None:
    """
    Return the name of the person who a user of a bot is; None if it is not paired, or is blocked. Who is paired in the
    private chat, which has the id of the user, is the same person in every group.
    """
    if trigger.blocks(chat, user_id):
        return None
    for place in dict.fromkeys((user_id, chat)):
        pairing = conversations.find_pairing_by_user(tx, trigger.number, place, user_id)
        if pairing is None or pairing.state is not PairingState.APPROVED or pairing.person is None:
            continue
        person = directory.find(tx, pairing.person)
        if person.is_live:
            return person.name
    return None


def may_write(tx: Reader, trigger: Trigger, chat: str, user_id: str | None, person: str | None) -> bool:
    """
    Return True if a chat may be written to for a user who is `person`: while the user is paired with that person, or
    the allow list names the user or the chat; never if one of them is blocked. Without a user, only the block list
    counts.
    """
    verdict = check_lists(trigger.config, chat, user_id)
    if verdict is ListVerdict.BLOCKED:
        return False
    if user_id is None:
        return True
    paired_person = find_person(tx, trigger, chat, user_id)
    if person is not None and (paired_person is not None or not directory.find(tx, person).is_live):
        return paired_person == person
    return verdict is ListVerdict.ALLOWED
