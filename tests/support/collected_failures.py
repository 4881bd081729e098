"""
Collect the failures of many small cases in one test.

A case of pytest costs its fixtures and its report, which for a statement, a help page or a view is more than the check
itself. One test loops over them instead, and names every case that failed:

    failures = CollectedFailures()
    for path, command in COMMANDS.items():
        with failures.check(path):
            assert command.help
    failures.raise_all()

`check_cases` does so to a test with parameters:

    @check_cases(("name", "error"), [("", Invalid), ("nobody", NotFound)])
    def test_what_is_refused(store: Store, name: str, error: type[Exception]) -> None: ...
"""

import contextlib
import functools
import inspect
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import pytest

_OWN_FILES: Final = (__file__, contextlib.__file__)


class CollectedFailures:
    """Collects the failures of cases by their names. As a context manager it raises them at its end."""

    def __init__(self) -> None:
        self._failures: dict[str, BaseException] = {}
        self.count = 0

    @contextmanager
    def check(self, name: str) -> Iterator[None]:
        """Record an assertion that fails in the body, or any other error, under the name of the case."""
        self.count += 1
        try:
            yield
        except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 (`raise_all` raises it)
            self._failures[f"{name} ({self.count})" if name in self._failures else name] = error

    def raise_all(self) -> None:
        """Raise one error that has all failures, if there are any."""
        __tracebackhide__ = True
        assert self.count, "no case was checked"
        if self._failures:
            count = f"{len(self._failures)} of {self.count} cases failed"
            lists = [f"{name}\n{_format_failure(error)}" for name, error in self._failures.items()]
            raise AssertionError("\n\n".join([f"{count}: {', '.join(self._failures)}", *lists]))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        if error is None:
            self.raise_all()


def _format_failure(error: BaseException) -> str:
    """Return where a case failed, and why."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename not in _OWN_FILES]
    lines = [f"{Path(frame.filename).name}:{frame.lineno}: {frame.line}" for frame in frames]
    is_assertion = isinstance(error, AssertionError | pytest.fail.Exception)
    reason = str(error) if is_assertion else "".join(traceback.format_exception_only(error))
    return "\n".join(f"    {line}" for line in [*lines, *reason.splitlines()])


def check_cases(
    parameters: str | Sequence[str], cases: Iterable[Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """
    Return a decorator that is used like `pytest.mark.parametrize`, but runs one test over all cases. They share its
    fixtures: they must leave them as they were, as what is refused does.
    """
    names = [parameters] if isinstance(parameters, str) else parameters
    all_cases = [(case,) if isinstance(parameters, str) else case for case in cases]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def run_all(*args: Any, **fixtures: Any) -> None:
            with CollectedFailures() as failures:
                for number, case in enumerate(all_cases):
                    values = dict(zip(names, case, strict=True))
                    with failures.check(f"{number} ({', '.join(f'{value!r:.60}' for value in case)})"):
                        test(*args, **fixtures, **values)

        signature = inspect.signature(test)
        fixtures = [value for name, value in signature.parameters.items() if name not in names]
        run_all.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]
        return run_all

    return decorate
