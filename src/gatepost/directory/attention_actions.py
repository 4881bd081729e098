"""Attention: say what may wake an entity until a time, and read what was said."""

from collections.abc import Sequence

from gatepost.core.ports import Reader, Row, Transaction
from gatepost.core.signals import Signal, Topic
from gatepost.core.times import Duration, Instant, format_duration, format_rfc3339
from gatepost.directory import entity_actions as directory
from gatepost.directory.attention import (
    MAX_LENGTH,
    Attention,
    AttentionChanged,
    AttentionLevel,
    FindPresences,
    Presence,
    judge_person,
)
from gatepost.directory.entity import Entity, EntityKind
from gatepost.directory.key import PAGE_LIFETIME
from gatepost.errors import Invalid


def set_attention(
    tx: Transaction,
    name: str,
    level: AttentionLevel,
    *,
    until: Instant | None = None,
    length: Duration | None = None,
) -> Entity:
    """
    Record what may wake an entity until a time, or for some time; with the level `all`, end what was said before.
    Return the entity. What waits is signalled, because more may wake it now.
    """
    entity = directory.show(tx, directory.find_live(tx, name).name)
    ends_at = _find_end(tx.now, level, until, length)
    if ends_at is None:
        tx.execute_later("directory/attention/end", entity=entity.number, now=tx.now)
    else:
        values = {"max_priority": level.max_priority, "until": ends_at}
        tx.execute_later("directory/attention/save", entity=entity.number, **values)
    if entity.kind is EntityKind.HUMAN:
        tx.react(AttentionChanged(entity, ends_at))
    tx.after_commit(Signal(Topic("inbox", entity.name), "attention"))
    return entity


def _find_end(now: Instant, level: AttentionLevel, until: Instant | None, length: Duration | None) -> Instant | None:
    if level is AttentionLevel.ALL:
        if until is not None or length is not None:
            raise Invalid("the level 'all' has no end", hint="leave out the time")
        return None
    if (until is None) == (length is None):
        raise Invalid(f"the level {level.value!r} needs one end", hint="give `within`, such as 2h, or `until`")
    ends_at = until if until is not None else now + (length or 0)
    if ends_at <= now:
        raise Invalid(f"{format_rfc3339(ends_at)!r} is in the past", hint="give a time that is still to come")
    if ends_at - now > MAX_LENGTH:
        limit = format_duration(MAX_LENGTH)
        raise Invalid(f"{format_rfc3339(ends_at)!r} is more than {limit} ahead", hint=f"give at most {limit}")
    return ends_at


def find_all(tx: Reader, entities: Sequence[int]) -> dict[int, Attention]:
    """Return what these entities have said, by their numbers; without those that everything wakes."""
    rows = tx.fetch_all("directory/attention/list_of_entities", entities=list(entities), now=tx.now)
    return {row.entity: read_row(row) for row in rows}


def find_presences(tx: Reader, entities: Sequence[Entity]) -> dict[int, Presence]:
    """Return what these entities are doing, by their numbers; without those of which nothing is known."""
    live = [entity for entity in entities if entity.is_live]
    people = [entity.number for entity in live if entity.kind is EntityKind.HUMAN]
    agents = [entity for entity in live if entity.kind is EntityKind.AGENT]
    presences = dict(tx.ask(FindPresences(agents))) if agents else {}
    if people:
        rows = tx.fetch_all("directory/attention/list_page_uses", entities=people)
        seen_at = {row.entity: row.expires_at - PAGE_LIFETIME for row in rows}
        presences |= {number: judge_person(seen_at.get(number), tx.now) for number in people}
    return presences


def get_max_priority(attention: Attention | None) -> int:
    """Return the number of the least urgent priority that wakes."""
    return (attention.level if attention is not None else AttentionLevel.ALL).max_priority


def read_row(row: Row) -> Attention:
    level = next(each for each in AttentionLevel if each.max_priority == row.max_priority)
    return Attention(level, row.until)
