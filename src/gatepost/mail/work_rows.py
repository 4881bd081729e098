"""Work items."""

from typing import Final

from gatepost.core.ports import Reader, Row, Transaction
from gatepost.inbox.event import Ref
from gatepost.mail.work_item import CLOSING_EVENTS, WorkItem, WorkItemSpec, WorkType
from gatepost.stores.row_mapping import Mapper, fetch_number

_WORK_ITEM: Final = Mapper(WorkItem, without="parent")


def insert(tx: Transaction, spec: WorkItemSpec, *, parent: int | None, made_by: int) -> bool:
    """Return False if its id or its topic is taken."""
    row = tx.fetch_one(
        "mail/work_items/insert",
        type=spec.type,
        id=spec.id,
        title=spec.title or spec.id,
        parent=parent,
        topic=spec.topic,
        made_by=made_by,
        now=tx.now,
    )
    return row is not None


def find(tx: Reader, type: WorkType, id: str) -> WorkItem | None:
    """Return the work item with this id or topic."""
    row = tx.fetch_one("mail/work_items/find", type=type, id=id)
    return build(row) if row else None


def is_taken(tx: Reader, type: WorkType, topic: str) -> bool:
    """Return whether a work item of this type cannot have this topic: another one has it as its topic or its id."""
    return tx.fetch_one("mail/work_items/has_name", type=type, id=topic) is not None


def list_recent_ids(tx: Reader, type: WorkType) -> list[str]:
    return [row.id for row in tx.fetch_all("mail/work_items/list_recent_ids", type=type)]


def count_open(tx: Reader, entity: int, limit: int) -> int:
    """Count the work items that an entity works on and that have not ended, up to a limit."""
    return fetch_number(tx, "mail/work_items/count_open", entity=entity, closed=list(CLOSING_EVENTS), limit=limit)


def count_made(tx: Reader, entity: int, limit: int) -> int:
    """Count the work items that an entity has added and that have not ended, up to a limit."""
    return fetch_number(tx, "mail/work_items/count_made", entity=entity, closed=list(CLOSING_EVENTS), limit=limit)


def set_topic(tx: Transaction, number: int, topic: str) -> None:
    tx.execute_later("mail/work_items/set_topic", number=number, topic=topic)


def build(row: Row) -> WorkItem:
    return _WORK_ITEM.read(row, parent=Ref(row.parent_type, row.parent_id) if row.parent_type else None)
