"""
Everybody who acts in the background of one process: the duties, and the residents it thinks for.

A gateway has such a household, and so has a program that embeds Gatepost.
"""

import os
import secrets
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

from gatepost.actions import decisions
from gatepost.actions.cycle import ERRAND, LENGTH, Taken
from gatepost.core.frame import TransportMessage
from gatepost.core.instants import Duration
from gatepost.runtime import code, cycle, errands, evaluator, janitor, keeper, ticker
from gatepost.runtime.code import Function
from gatepost.runtime.cycle import Means, Outcome
from gatepost.runtime.errands import Handler
from gatepost.runtime.evaluator import Reach
from gatepost.runtime.exchange import Exchange
from gatepost.runtime.keeper import Keeper
from gatepost.runtime.loops import Duty, running
from gatepost.runtime.supervisor import Supervisor


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """How a household goes about it."""

    #: seconds between the janitor's rounds
    interval: float = 5.0
    #: cycles at once
    most: int = 100
    #: how long nothing may be heard of somebody who thinks before another goes on
    lease: Duration = LENGTH
    #: what else is done when rings may have been lost
    remind: Callable[[], None] = field(default=lambda: None)
    #: without it nothing is done outside
    reach: Reach | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Household:
    supervisor: Supervisor
    duties: tuple[Duty, ...]


@asynccontextmanager
async def living(
    means: Means, exchange: Exchange, habits: Habits, functions: Mapping[str, Function] | None = None
) -> AsyncIterator[Household]:
    """While entered, plans fire, gates end, what was lost is made up for, and residents think."""
    holder = f"{os.uname().nodename}:{os.getpid()}:{secrets.token_hex(4)}"
    known = functions or {}
    supervisor = Supervisor(
        means.store,
        partial(_think, means, known),
        holder=holder,
        most=habits.most,
        lease=habits.lease,
        codes=known.__contains__,
    )
    duties = tuple(_duties(means, exchange, holder, habits))
    async with AsyncExitStack() as stack:
        stack.enter_context(exchange.subscribed(partial(_heard, duties)))
        await stack.enter_async_context(supervisor.running())
        stack.enter_context(exchange.subscribed(supervisor.heard))
        await stack.enter_async_context(running(duties))
        yield Household(supervisor=supervisor, duties=duties)


async def _think(means: Means, functions: Mapping[str, Function], taken: Taken) -> Outcome:
    function = functions.get(taken.held.run.agent)
    return await (code.think(means, taken, function) if function else cycle.think(means, taken))


def _duties(means: Means, exchange: Exchange, holder: str, habits: Habits) -> Iterator[Duty]:
    store = means.store
    handlers: dict[str, Handler] = {ERRAND: partial(cycle.fetch, means)}
    if habits.reach is not None and habits.reach.on_answer is not None:
        handlers[decisions.ERRAND] = partial(errands.answered, habits.reach.commands, habits.reach.on_answer)

    async def remind() -> None:
        habits.remind()
        await janitor.ring(store, exchange.tell)

    watch = Keeper(store)
    tidy = partial(janitor.tidy, store, exchange)
    yield Duty("janitor", tidy, interval=habits.interval, store=store, holder=holder)
    yield Duty("ticker", partial(ticker.tick, store), interval=ticker.LONGEST, wakes=ticker.wakes)
    running_errands = partial(errands.run, store, handlers, holder)
    yield Duty("errands", running_errands, interval=habits.interval, wakes=errands.wakes)
    yield Duty("keeper", watch.look, interval=keeper.LONGEST, wakes=watch.wakes)
    if habits.reach is not None:
        look = partial(evaluator.look, store, habits.reach)
        yield Duty("evaluator", look, interval=habits.interval, wakes=evaluator.wakes)
    yield Duty("reminder", remind, interval=habits.interval)


def _heard(duties: Sequence[Duty], signal: TransportMessage) -> None:
    for duty in duties:
        duty.heard(signal)
