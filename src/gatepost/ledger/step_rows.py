"""The transactions of a public ledger that are under way, and the ids that they have."""

from gatepost.core.ports import Reader, Transaction
from gatepost.ledger.topic import LedgerId
from gatepost.ledger.transaction import TransactionId
from gatepost.stores.row_mapping import fetch_number


def take_id(tx: Transaction, network: str, payer: LedgerId, start: int) -> TransactionId:
    """Return an id that no transaction of this payer has; it is valid from `start` (nanoseconds), or shortly after."""
    return TransactionId(
        payer, fetch_number(tx, "ledger/ledger_steps/take_start", network=network, account=str(payer), start=start)
    )


def insert(tx: Transaction, network: str, step: str, id: TransactionId) -> bool:
    """Store the id of the transaction of a step; return False if the step has one."""
    return tx.execute("ledger/ledger_steps/insert", network=network, step=step, transaction_id=str(id), now=tx.now) == 1


def read(tx: Reader, network: str, step: str) -> tuple[TransactionId, str | None] | None:
    """Return the id of the transaction of a step, and the receipt as JSON, if there is one."""
    row = tx.fetch_one("ledger/ledger_steps/read", network=network, step=step)
    return (TransactionId.parse(row.transaction_id), row.receipt) if row else None


def replace(tx: Transaction, network: str, step: str, old_id: TransactionId, id: TransactionId) -> bool:
    """Give a step another id; return False if it has another one already."""
    row_count = tx.execute(
        "ledger/ledger_steps/replace", network=network, step=step, old_id=str(old_id), transaction_id=str(id)
    )
    return row_count == 1


def finish(tx: Transaction, network: str, step: str, id: TransactionId, receipt: str) -> None:
    """Store the receipt of a step."""
    tx.execute("ledger/ledger_steps/finish", network=network, step=step, transaction_id=str(id), receipt=receipt)


def delete_all(tx: Transaction, network: str, name: str) -> None:
    """Delete the steps whose names begin with `NAME/`."""
    tx.execute("ledger/ledger_steps/delete_all", network=network, first=f"{name}/", last=f"{name}0")


def delete_others(tx: Transaction, network: str, name: str, kept: str) -> None:
    """Delete the steps whose names begin with `NAME/`, but not with `NAME/KEPT/`."""
    tx.execute("ledger/ledger_steps/delete_all", network=network, first=f"{name}/", last=f"{name}/{kept}/")
    tx.execute("ledger/ledger_steps/delete_all", network=network, first=f"{name}/{kept}0", last=f"{name}0")
