"""
The context of a hook, as its handlers see it: the agent, its session on disk, the spool, and the store while it can be
reached.

A hook must not make its host wait. The store is opened at its first use. Once it is out of reach, it counts as out of
reach for the rest of this hook, and nothing waits for it again.
"""

import os
import sys
from collections.abc import Callable, Sequence
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar

from gatepost.core.times import DAY, MINUTE, SECOND, Duration, Instant
from gatepost.errors import GatepostError, Unavailable
from gatepost.guests.hooks.session_state import Session, SessionState
from gatepost.paths import StrPath

TYPE_CHECKING = False
if TYPE_CHECKING:  # a hook that has nothing to do imports neither at run time
    from gatepost.core.ports import Clock, Reader, Store, Transaction
    from gatepost.guests.ports import Spool
    from gatepost.guests.session import PrintedBatch

P = ParamSpec("P")
T = TypeVar("T")


class HookOptions(NamedTuple):
    """The settings that hooks use."""

    #: the name of the agent, from the environment or the settings
    agent: str | None = None
    #: whether an agent must ask for a decision before it stops, and how long it waits for the answer
    stop_decision: bool = False
    decision_wait: Duration = 540 * SECOND
    #: `plain` or `system-reminder`
    format: str = "plain"
    #: how long the keys of shown items are remembered
    remember_for: Duration = DAY
    #: how long a printed batch is held for its session while nothing proves or disproves that it was read
    proof_timeout: Duration = 30 * MINUTE


def locate_program() -> str | None:
    """Return the path of the command `gatepost`: beside the interpreter that runs this, else on the PATH."""
    sibling = os.path.join(os.path.dirname(sys.executable), "gatepost")
    if os.access(sibling, os.X_OK):
        return sibling
    from shutil import which  # not light, and rarely needed

    return which("gatepost")


class HookContext:
    """What a handler knows and can use. One is made for each hook."""

    def __init__(
        self,
        *,
        home: StrPath,
        options: HookOptions,
        clock: "Clock",
        session: Session,
        open_store: "Callable[[], Store | None]" = lambda: None,
        open_spool: "Callable[[], Spool] | None" = None,
        has_lines: Callable[[], bool] = lambda: True,
        read_unproved: "Callable[[], Sequence[PrintedBatch]]" = lambda: (),
        peek_items: Callable[[str, Instant], bool] | None = None,
    ) -> None:
        self.home = home
        self.options = options
        self.clock = clock
        #: this session on disk, and its recorded state
        self.session = session
        self.state = session.read()
        #: opens the spool; None if there is no spool to read
        self.open_spool = open_spool
        #: whether the spool has any lines; a cheap check that does not open it
        self.has_lines = has_lines
        #: reads the batches that earlier hooks printed and that are not settled yet; cheap
        self.read_unproved = read_unproved
        #: checks whether the store has items for an agent, if that is possible without opening it as a store
        self._peek_items = peek_items
        is_same_name = options.agent in (None, self.state.named)
        #: the name of the agent; None while it is not known
        self.agent = self.state.agent if is_same_name and self.state.agent else options.agent
        #: why the settings cannot be used, and why the name of the agent cannot be used: sentences for the person
        self.settings_problem: str | None = None
        self.agent_problem: str | None = None
        self.started_at = clock.now()
        #: the ids of gates that do not block this time
        self.excused_gates: set[str] = set()
        #: the process of the host, at the start of a session, if it is known
        self.program: str | None = None
        #: whether a person has decided that the agent may stop, even if its inbox has items
        self.can_stop = False
        #: a person's answer: the dedup key that it also has in the inbox, and its text
        self.decision_answer: tuple[str, str] | None = None
        #: whether the host shows the person the warnings of this hook
        self.can_warn = True
        #: whether a command that the agent runs in its current folder would use another home than this one
        self.has_other_home: Callable[[], bool] = lambda: False
        #: sentences for stderr
        self.notes: list[str] = [session.read_problem] if session.read_problem else []
        self._open_store = open_store
        self._store: Store | None = None
        self._is_store_opened = False

    @property
    def store(self) -> "Store | None":
        """The store; None if there is none, or if it is out of reach."""
        if not self._is_store_opened:
            self._is_store_opened = True
            try:
                self._store = self._open_store()
            except Exception as error:  # noqa: BLE001 (a file that is no store, a disk that fails: out of reach)
                self.add_note(str(error))
        return self._store

    def build_command(self, *arguments: str) -> str:
        """Return a `gatepost` command for the agent's shell, which works in its current folder and with any PATH."""
        import shlex

        home = f"GATEPOST_HOME={shlex.quote(str(self.home))} " if self.has_other_home() else ""
        return home + shlex.join([locate_program() or "gatepost", *arguments, "--session", self.session.id])

    def read_sync(self, query: "Callable[Concatenate[Reader, P], T]", *args: P.args, **kwargs: P.kwargs) -> T:
        """Return the result of a query; raise Unavailable if the store is out of reach."""
        return self._use_store(lambda store: store.read_sync(query, *args, **kwargs))

    def run_sync(self, verb: "Callable[Concatenate[Transaction, P], T]", *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb in one transaction; raise Unavailable if the store is out of reach."""
        return self._use_store(lambda store: store.run_sync(verb, *args, **kwargs))

    def has_items(self) -> bool:
        """Return True if the store has items for this agent; False if it has none, or is out of reach."""
        if self.agent is None:
            return False
        try:
            if self._peek_items is not None and not self._is_store_opened:
                return self._peek_items(self.agent, self.clock.now())
            from gatepost.guests import session_actions as sessions

            return self.read_sync(sessions.has_items, self.agent)
        except GatepostError as error:
            self.add_note(error.message)
            return False

    def update_state(self, change: Callable[[SessionState], SessionState]) -> None:
        """Change the recorded state of the session; raise OSError if it cannot be written."""
        self.state = self.session.update(change)

    def add_note(self, note: str) -> None:
        """Add a sentence for stderr, once."""
        if note not in self.notes:
            self.notes.append(note)

    def _use_store(self, operation: "Callable[[Store], T]") -> T:
        if self.store is None:
            raise Unavailable("the store is out of reach")
        try:
            return operation(self.store)
        except GatepostError as error:
            if isinstance(error, Unavailable):
                self._drop_store(error.message)
            raise
        except Exception as error:  # for example, a damaged file
            self._drop_store(f"the store failed: {error}")
            raise Unavailable("the store is out of reach") from error

    def _drop_store(self, reason: str) -> None:
        self._store = None
        self.add_note(reason)
