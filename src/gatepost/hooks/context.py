"""
What the handlers of a hook have before them: who the guest is, its session on disk, the spool, and the store as long
as it can be reached.

A hook must not make its host wait. The store is opened when it is first asked for; once it was out of reach, it is so
for the rest of this hook, and nobody waits for it again.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar

from gatepost.core.times import DAY, MINUTE, SECOND, Duration, Instant
from gatepost.errors import GatepostError, Unavailable
from gatepost.hooks.session import Session, SessionState

TYPE_CHECKING = False
if TYPE_CHECKING:  # a hook that has nothing to do needs neither
    from gatepost.core.printed_batch import PrintedBatch
    from gatepost.ports import Clock, Reader, Spool, Store, Transaction

P = ParamSpec("P")
T = TypeVar("T")


class HookOptions(NamedTuple):
    """What is set, as far as hooks go by it."""

    #: who the guest is, as the environment or the settings say
    agent: str | None = None
    #: whether an agent asks for a decision before it stops, and how long it waits for the answer
    stop_decision: bool = False
    decision_wait: Duration = 540 * SECOND
    #: `plain`, or `system-reminder`
    format: str = "plain"
    #: how long what was shown is remembered
    remember_for: Duration = DAY
    #: whether there are work items that an agent can note something on; there are none without a ledger
    has_work_items: bool = False
    #: how long what was printed is held for its session, if nothing is heard of it
    proof_timeout: Duration = 30 * MINUTE


class HookContext:
    def __init__(
        self,
        *,
        home: Path,
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
        #: this session on disk, and what it remembers
        self.session = session
        self.state = session.read()
        #: opens the spool; None where there is none to be read
        self.open_spool = open_spool
        #: whether anything lies in the spool, found out at no cost
        self.has_lines = has_lines
        #: what earlier hooks have printed and nobody has settled, found out at little cost
        self.read_unproved = read_unproved
        #: looks whether the store has anything for an agent, where that can be done without opening it as a store
        self._peek_items = peek_items
        #: who the guest is; None as long as nobody has said
        is_same_name = options.agent in (None, self.state.named)
        self.agent = self.state.agent if is_same_name and self.state.agent else options.agent
        #: why the settings cannot be used, and why the name of the agent cannot: sentences for the person
        self.settings_problem: str | None = None
        self.agent_problem: str | None = None
        self.started_at = clock.now()
        #: the ids of gates that do not hold this time
        self.excused_gates: set[str] = set()
        #: whether a person has said that it may stop, whatever waits for it
        self.can_stop = False
        #: what a person has answered, by the dedup key under which it is in the inbox too
        self.decision_answer: tuple[str, str] | None = None
        #: whether the person is shown the warnings of this hook
        self.can_warn = True
        #: whether a command that the agent runs where it is now would find another home than this
        self.has_other_home: Callable[[], bool] = lambda: False
        #: for stderr, a sentence each
        self.notes: list[str] = [session.read_problem] if session.read_problem else []
        self._open_store = open_store
        self._store: Store | None = None
        self._is_store_opened = False

    @property
    def store(self) -> "Store | None":
        """The store; None where there is none, or it cannot be reached."""
        if not self._is_store_opened:
            self._is_store_opened = True
            try:
                self._store = self._open_store()
            except Exception as error:  # noqa: BLE001 (a store that is none, a disk that fails: it is out of reach)
                self.add_note(str(error))
        return self._store

    def build_command(self, *arguments: str) -> str:
        """Return a command of ours for the agent's shell, which works from where it is and whatever its PATH is."""
        import shlex

        from gatepost.hooks.host_settings import locate_program

        home = f"GATEPOST_HOME={shlex.quote(str(self.home))} " if self.has_other_home() else ""
        return home + shlex.join([locate_program() or "gatepost", *arguments, "--session", self.session.id])

    def look(self, query: "Callable[Concatenate[Reader, P], T]", *args: P.args, **kwargs: P.kwargs) -> T:
        """Ask the store; Unavailable if it is out of reach."""
        return self._use_store(lambda store: store.query(query, *args, **kwargs))

    def call(self, verb: "Callable[Concatenate[Transaction, P], T]", *args: P.args, **kwargs: P.kwargs) -> T:
        """Have the store do something; Unavailable if it is out of reach."""
        return self._use_store(lambda store: store.call(verb, *args, **kwargs))

    def has_items(self) -> bool:
        """Return True if the store has anything for this agent to read, False if not, or if it is out of reach."""
        if self.agent is None:
            return False
        try:
            if self._peek_items is not None and not self._is_store_opened:
                return self._peek_items(self.agent, self.clock.now())
            from gatepost.actions import sessions

            return self.look(sessions.has_items, self.agent)
        except GatepostError as error:
            self.add_note(error.message)
            return False

    def update_state(self, change: Callable[[SessionState], SessionState]) -> None:
        """Change what the session remembers; OSError if it cannot be written."""
        self.state = self.session.update(change)

    def add_note(self, note: str) -> None:
        """Say something on stderr, once."""
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
        except Exception as error:  # a store that is not what it should be
            self._drop_store(f"the store failed: {error}")
            raise Unavailable("the store is out of reach") from error

    def _drop_store(self, reason: str) -> None:
        self._store = None
        self.add_note(reason)
