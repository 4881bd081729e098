"""Gates: `/api/gates`. Whoever is not concerned by one does not see it."""

from typing import Any

from fastapi import APIRouter

from gatepost.actions import gates
from gatepost.actions.directory import ADMINISTRATOR
from gatepost.actions.pages import limit_page
from gatepost.core import wire
from gatepost.core.gate import GateKind
from gatepost.gateway import waits
from gatepost.gateway.auth import Acting, Principal
from gatepost.gateway.problems import documented
from gatepost.gateway.requests import After, House, Limit, Who, Write, dated, page
from gatepost.gateway.shapes import shaped
from gatepost.gateway.waits import GateEnd, NewGate, WaiterWish
from gatepost.ports import Transaction

router = APIRouter(prefix="/api/gates", tags=["gates"], responses=documented(401, 403, 404, 422, 503))


@router.post("", status_code=201, responses=shaped(waits.Gate, 201) | documented(409, 413))
async def create(body: NewGate, who: Who, write: Write) -> Any:
    """Make a gate, which keeps its owner from stopping. Only the administrator makes one that runs a command."""
    maker, wish = who.as_(body.made_by) or ADMINISTRATOR, body.wish()
    return await write(
        lambda tx: wire.write_gate(gates.add(tx, wish, by=maker), tx.now, include_private=_all(who)),
        lane=wish.owner or maker,
    )


@router.get("", responses=shaped(waits.GatePage))
async def list_gates(
    who: Who,
    house: House,
    owner: str | None = None,
    waiter: str | None = None,
    kind: waits.GateKind | None = None,
    pending: bool | None = None,
    after: After = 0,
    limit: Limit = 100,
) -> Any:
    """The gates that concern the caller, in the order in which they were made; for the administrator all."""
    for name in (owner, waiter):
        who.as_(name)
    found = await house.store.read(
        limit_page(gates.page),
        concerning=who.as_(None),
        owner=owner,
        waiter=waiter,
        kind=GateKind(kind) if kind else None,
        pending=pending,
        after=after,
        limit=limit,
    )
    return page(
        found, limit, lambda one: wire.write_gate(one, found.now, include_private=_all(who)), lambda one: one.number
    )


@router.get("/{id}", responses=shaped(waits.Gate))
async def show(id: str, who: Who, house: House) -> Any:
    """A gate that concerns the caller; the administrator sees all."""
    found, now = await house.store.read(dated(gates.show), id, viewer=who.as_(None))
    return wire.write_gate(found, now, include_private=_all(who))


@router.put("/{id}/resolution", responses=shaped(waits.Gate) | documented(409, 413))
async def resolve(id: str, body: GateEnd, who: Who, write: Write) -> Any:
    """Say that what it waits for has come or, with `withdraw`, that it is not needed any more. The first end counts."""
    by = who.as_(body.by) or ADMINISTRATOR

    def verb(tx: Transaction) -> wire.Document:
        end = gates.withdraw if body.withdraw else gates.resolve
        return wire.write_gate(end(tx, id, by=by, reason=body.reason), tx.now, include_private=_all(who))

    return await write(verb, lane=id)


@router.post("/{id}/waiters", responses=shaped(waits.Gate) | documented(409, 413))
async def add_waiter(id: str, body: WaiterWish, who: Who, write: Write) -> Any:
    """Let somebody be told when it ends."""
    by = who.as_(body.by) or ADMINISTRATOR
    return await write(
        lambda tx: wire.write_gate(gates.add_waiter(tx, id, body.name, by=by), tx.now, include_private=_all(who)),
        lane=id,
    )


def _all(who: Principal) -> bool:
    """Whether somebody may see the command that a gate runs."""
    return not isinstance(who, Acting)
