"""What an error of the driver of PostgreSQL means: a collision, a failure of the server, or an error of the verb."""

import psycopg
from psycopg import errors

from gatepost.core.ports import RetryTransaction
from gatepost.errors import Unavailable
from gatepost.stores.statements import ConstraintViolation


def explain_error(error: psycopg.Error, *, in_verb: bool = False, may_collide: bool = False) -> Exception:
    """
    Return `RetryTransaction` for a collision, and `Unavailable` for a failure of the server. Others are errors of the
    verb: return `ConstraintViolation` for a value that the database refuses, else the error itself. With `may_collide`
    a row that is there already is a collision: when the verb looked, it was not there.
    """
    if may_collide and isinstance(error, errors.UniqueViolation):
        return RetryTransaction(str(error))
    if isinstance(error, errors.SerializationFailure | errors.DeadlockDetected):
        return RetryTransaction(str(error))
    if isinstance(error, errors.ForeignKeyViolation) and not in_verb:
        # Found only at the commit: the row that it refers to was removed meanwhile, and the next run sees that.
        return RetryTransaction(str(error))
    if isinstance(error, errors.ProgramLimitExceeded) and in_verb:
        return ConstraintViolation(read_first_line(error))  # a text that is too long for an index, for example
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError) or not in_verb:
        return Unavailable(
            f"PostgreSQL cannot do it now: {read_first_line(error)}", hint="nothing was stored; try again"
        )
    if isinstance(error, psycopg.IntegrityError | psycopg.DataError):
        return ConstraintViolation(read_first_line(error))
    return error


def is_connection_lost(error: psycopg.Error) -> bool:
    """Whether it is an error of the driver, or the last word of a server that ends the connection."""
    return isinstance(error, psycopg.OperationalError) and (error.sqlstate or "08").startswith(("08", "57P"))


def read_first_line(error: psycopg.Error) -> str:
    """Return the first line of the message; the rest may quote the connection or the row."""
    return (str(error).strip() or type(error).__name__).splitlines()[0].removeprefix("FATAL:").strip().rstrip(".")
