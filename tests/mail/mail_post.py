"""Short ways to send mail and to look at it, for tests."""

import json
from typing import Any

from gatepost.core.ports import Reader
from gatepost.core.times import DAY
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import Event, EventType, ItemState
from gatepost.mail import mail_actions as mail, read_receipt_actions as read_receipts
from gatepost.mail.sent_record import Mail, MailSpec
from gatepost.stores.statements import Sql
from gatepost.worker import retention_actions as retention
from tests.support.store_context import StoreContext


class Post:
    """The mail of the office."""

    def __init__(self, ctx: StoreContext) -> None:
        self.ctx = ctx
        self.store = ctx.store

    def send(self, to: str | None = "bob", text: str = "tea?", *, sender: str = "ann", **fields: Any) -> Mail:
        spec = MailSpec(**{"to": to, "payload": {"text": text}} | fields)
        return self.ctx.store.run_sync(mail.send, spec, sender=sender)

    def show(self, sent: Mail) -> Mail:
        return self.ctx.store.read_sync(mail.show, sent.id)

    def read_states(self, sent: Mail) -> dict[str, ItemState]:
        return {entry.name: entry.state for entry in self.show(sent).recipients}

    def list_sent(self, sender: str = "ann", **filters: Any) -> list[Mail]:
        defaults: dict[str, Any] = {"thread": None, "ref": None, "before": None, "limit": 100}
        return self.ctx.store.read_sync(mail.list_sent, sender, **defaults | filters)

    def list_thread(self, viewer: str | None, **filters: Any) -> list[Mail]:
        defaults: dict[str, Any] = {"thread": None, "ref": None, "before": None, "limit": 100}
        return self.ctx.store.read_sync(mail.list_thread, viewer, **defaults | filters)

    def read_events(self, name: str) -> list[Event]:
        return [item.event for item in self.ctx.store.read_sync(inbox.peek, name, limit=1_000)]

    def read_everything(self, name: str) -> None:
        """Read the inbox of an agent to its end."""
        while (claim := self.ctx.claim(name, limit=1_000).claim) is not None:
            self.ctx.ack(claim)

    def list_notices(self, name: str = "ann") -> list[str]:
        return [event.content for event in self.read_events(name) if event.type is EventType.SYSTEM]

    def report_overdue(self) -> int:
        return self.ctx.store.run_sync(read_receipts.report_overdue)

    def reap(self) -> None:
        """Remove what ended, after the time for which it is remembered."""
        self.ctx.clock.advance(2 * DAY)
        while self.ctx.store.run_sync(retention.reap):
            pass

    def list_records(self) -> list[dict[str, Any]]:
        """The records in `outgoing`, the oldest first."""

        def read(tx: Reader) -> list[dict[str, Any]]:
            rows = tx.fetch_all(Sql("SELECT * FROM outgoing ORDER BY number"))
            return [{"kind": row.kind, "data": json.loads(row.data), "row": row} for row in rows]

        return self.ctx.store.read_sync(read)
