"""
What happens when the model of a resident fails: how long the agent rests, when its fallback model is tried, and when
its next batch is smaller.

The rest grows with every failure in a row, depends on the kind of the trouble, and has some jitter, so that agents that
failed together do not come back together. Only trouble with the content may be the fault of an event: then the next
batch is half as large, until the poisoned item is alone. `residents/runs/ending_actions.py` records all this.
"""

from enum import StrEnum
from typing import Final

from msgspec.structs import replace

from gatepost.core.backoff import Backoff
from gatepost.core.times import SECOND, Duration
from gatepost.residents.agent_config import ModelChoice, Resident


class Trouble(StrEnum):
    """Why a model failed. It decides how long to wait, and whether an event may be the cause."""

    #: too many requests, or a quota
    RATE_LIMIT = "rate_limit"
    #: the server is overloaded, broken or unreachable
    OVERLOAD = "overload"
    #: the key is missing or wrong
    AUTH = "auth"
    #: the model will not or cannot answer this conversation
    CONTENT = "content"
    #: the conversation is too long for the model; a part of it may fit
    LENGTH = "length"
    OTHER = "other"


class ModelFailed(Exception):
    def __init__(self, trouble: Trouble, reason: str, *, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.trouble = trouble
        self.reason = reason
        #: seconds that the server asked to wait
        self.retry_after = retry_after


_JITTER: Final = (0.75, 1.25)
#: by trouble; in seconds
_BACKOFFS: Final = {
    "rate_limit": Backoff(15, cap=60, jitter=_JITTER),
    "overload": Backoff(10, cap=120, is_linear=True, jitter=_JITTER),
    "auth": Backoff(300, cap=300, jitter=_JITTER),
    "content": Backoff(1, cap=30, jitter=_JITTER),
    "other": Backoff(5, cap=30, jitter=_JITTER),
}
#: failures in a row after which the fallback model is tried, and after which every rest is long
FALLBACK_AFTER: Final = 3
_MANY_FAILURES: Final = 5
_LONG_BACKOFF: Final = Backoff(300, cap=300, jitter=_JITTER)


def compute_model_delay(trouble: str, failures: int, *, jitter: float, retry_after: float | None = None) -> Duration:
    """
    Return how long to rest after so many failures in a row. `jitter` (0 to 1) is random and changes the delay by up to
    a quarter either way; `retry_after` is what the provider asks for, in seconds, and is the least.
    """
    is_long = failures > _MANY_FAILURES and trouble not in ("content", "auth")
    backoff = _LONG_BACKOFF if is_long else _BACKOFFS[trouble]
    return int(max(backoff.delay(failures - 1, jitter), retry_after or 0) * SECOND)


def choose_model(resident: Resident) -> ModelChoice:
    """Return the model of a resident or, after `FALLBACK_AFTER` failures in a row, its fallback if it has one."""
    choice = resident.config.model
    if choice.fallback is None or resident.failures < FALLBACK_AFTER:
        return choice
    return replace(choice, name=choice.fallback, base_url=None, key_env=None, fallback=None)
