"""
The steps of posting to a public ledger, in the table `ledger_steps`.

Everything that is done there is a step with a name of its own, such as `mail_1/0.0.7/1`. A step first stores the id of
its transaction, and the ledger executes a transaction of one id once. So a step that is begun again after a crash, or
by two processes at once, is done once:

    begin_step -> the id is stored -> execute -> finish_step -> the receipt is stored

Only if a transaction was not executed, and never will be, its step gets another id.

The steps of a record are deleted in the transaction that saves that it is posted. One who has seen it unposted before,
and comes late, would begin them anew: no step of a record begins after that. The steps of accounts, topics, connections
and of the last profile stay, so one who comes late gets what there is.
"""

from typing import Final

import msgspec

from gatepost.core import typed_json
from gatepost.core.ports import Transaction
from gatepost.errors import Unavailable
from gatepost.ledger.public_ledger import LedgerReceipt, TransactionId
from gatepost.ledger.topic import NANOSECONDS, LedgerId
from gatepost.mail import sent_record_rows as outgoing
from gatepost.mail.sent_record import PostState
from gatepost.stores.row_mapping import fetch_number

#: a transaction is valid from a little earlier, because the clocks of the nodes differ
_START_OFFSET: Final = 5 * NANOSECONDS
_MICROSECOND: Final = 1_000


def begin_step(tx: Transaction, network: str, step: str, payer: LedgerId) -> tuple[TransactionId, LedgerReceipt | None]:
    """Return the id of the transaction of a step, and the receipt if it is done; store a new id if it has none."""
    if tx.fetch_one("ledger/ledger_steps/read", network=network, step=step) is None:
        record = outgoing.lock(tx, step.partition("/")[0])
        if record is not None and record.post is not PostState.UNPOSTED:
            raise Unavailable(f"{record.kind} {record.id} was just posted by another process")
        id = _take_id(tx, network, payer)
        if tx.execute("ledger/ledger_steps/insert", network=network, step=step, transaction_id=str(id), now=tx.now):
            return id, None
    return _read(tx, network, step)


def renew_step(tx: Transaction, network: str, step: str, old_id: TransactionId) -> TransactionId:
    """
    Give a step another id, because its transaction was not executed and never will be; return the id it has now. Raise
    Unavailable if what the step was for is done: another process has finished it.
    """
    id = _take_id(tx, network, old_id.payer)
    replacement = {"old_id": str(old_id), "transaction_id": str(id)}
    is_replaced = tx.execute("ledger/ledger_steps/replace", network=network, step=step, **replacement) == 1
    return id if is_replaced else _read(tx, network, step)[0]


def finish_step(tx: Transaction, network: str, step: str, id: TransactionId, receipt: LedgerReceipt) -> None:
    """Store the receipt of a step."""
    result = {"transaction_id": str(id), "receipt": msgspec.json.encode(receipt).decode()}
    tx.execute_later("ledger/ledger_steps/finish", network=network, step=step, **result)


def delete_steps(tx: Transaction, network: str, name: str, *, except_part: str | None = None) -> None:
    """Delete the steps whose names begin with `NAME/`, but not those that begin with `NAME/KEPT/`."""
    bounds = (
        [f"{name}/", f"{name}0"]
        if except_part is None
        else [f"{name}/", f"{name}/{except_part}/", f"{name}/{except_part}0", f"{name}0"]
    )
    for first, last in zip(bounds[::2], bounds[1::2], strict=True):
        tx.execute_later("ledger/ledger_steps/delete_all", network=network, first=first, last=last)


def _take_id(tx: Transaction, network: str, payer: LedgerId) -> TransactionId:
    """Return an id that no transaction of this payer has; it is valid from a little earlier than now."""
    start = tx.now * _MICROSECOND - _START_OFFSET
    number = fetch_number(tx, "ledger/ledger_steps/take_start", network=network, account=str(payer), start=start)
    return TransactionId(payer, number)


def _read(tx: Transaction, network: str, step: str) -> tuple[TransactionId, LedgerReceipt | None]:
    row = tx.fetch_one("ledger/ledger_steps/read", network=network, step=step)
    if row is None:
        raise Unavailable(f"the step {step!r} was just finished by another process")
    receipt = typed_json.decode(row.receipt, LedgerReceipt) if row.receipt is not None else None
    return TransactionId.parse(row.transaction_id), receipt
