"""
Who a user of a channel is, and whether a chat may be written to.

Both are asked again whenever something comes in or goes out: a pairing ends, a list changes and a person retires while
messages wait to be sent.
"""

from gatepost.channels import access_list, conversation_rows as channels
from gatepost.channels.access_list import ListVerdict
from gatepost.channels.conversation import PairingState
from gatepost.channels.triggers.trigger import Trigger
from gatepost.core.ports import Reader
from gatepost.directory import entity_actions as directory


def find_person(tx: Reader, trigger: Trigger, chat: str, user_id: str) -> str | None:
    """
    Return the name of the person who a user of a bot is; None if it is not paired, or is blocked. Who is paired in the
    private chat, which has the id of the user, is the same person in every group.
    """
    if trigger.blocks(chat, user_id):
        return None
    for place in dict.fromkeys((user_id, chat)):
        pairing = channels.find_pairing_by_user(tx, trigger.number, place, user_id)
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
    config = trigger.config
    verdict = access_list.decide(set(map(str, config.allow)), set(map(str, config.block)), chat, user_id)
    if verdict is ListVerdict.BLOCKED:
        return False
    if user_id is None:
        return True
    paired_person = find_person(tx, trigger, chat, user_id)
    if person is not None and (paired_person is not None or not directory.find(tx, person).is_live):
        return paired_person == person
    return verdict is ListVerdict.ALLOWED
