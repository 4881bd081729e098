"""
How a command starts and ends.

    0    done
    1    no: a check that says no, nothing of that name, not in that state
    2    wrong use or bad input; nothing was stored
    3    what is needed cannot be reached
    130  interrupted      141  the reader of the output is gone      129, 143  an export was ended by SIGHUP, SIGTERM

Every error is one sentence on stderr, often with a hint. A traceback is printed only with GATEPOST_DEBUG=1. Commands
are imported late, so that this holds from the start, and because a hook must start fast: `guests/hook_commands.py`
answers it alone.
"""

import os
import sys
from io import TextIOWrapper

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    import click

#: new objects after which garbage is collected; a gateway sets its own
_GC_THRESHOLD = 50_000


def main() -> None:
    import gc

    # A command makes a hundred thousand objects that stay, and ends. The collector would look through them 150 times.
    gc.set_threshold(_GC_THRESHOLD)
    code = run(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        try:  # noqa: SIM105 (a hook does not import contextlib)
            stream.flush()
        except (OSError, ValueError, AttributeError):  # it may be closed, or full; that was reported
            pass
    os._exit(code)  # everything is written and closed, and the interpreter's clean-up takes a sixth of a command's time


def run(arguments: "Sequence[str]") -> int:
    """Run a command and return its exit code; nothing is raised."""
    if list(arguments[:1]) == ["hook"] and not {"-h", "--help"}.intersection(arguments):
        from gatepost.guests import hook_commands as hook

        return hook.answer(arguments[1:])
    try:
        _prepare_streams(is_gateway=list(arguments[:1]) == ["up"])
        code = _run_command(arguments)
        try:
            sys.stdout.flush()
        except OSError:
            if code == 0:
                raise
            _abandon_stdout()  # the error is on stderr already
    except KeyboardInterrupt:
        import warnings

        warnings.simplefilter("ignore")  # of a coroutine that was interrupted before it began
        return 130
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else 0
    except BrokenPipeError:
        _abandon_stdout()
        return 141
    except ModuleNotFoundError as error:
        print(f"error: the installation of Gatepost is damaged: {error}", file=sys.stderr)
        print("hint: install it again; in a clone: `make clean`, then `make up`", file=sys.stderr)
        return 3
    except OSError as error:
        _abandon_stdout()
        print(f"error: the output cannot be written: {error.strerror or error}", file=sys.stderr)
        return 3
    return code


def _run_command(arguments: "Sequence[str]") -> int:
    import click

    from gatepost.cli import output
    from gatepost.cli.root import ROOT, answer_completion, explain_current_agent
    from gatepost.errors import GatepostError, UnknownAddress

    if "_GATEPOST_COMPLETE" in os.environ:
        try:
            return answer_completion(os.environ["_GATEPOST_COMPLETE"])
        except (KeyError, ValueError):  # the variables of a shell are missing or wrong
            return 1
    if list(arguments[:1]) != ["up"]:  # which logs them
        from gatepost.settings import find_near_misses

        for warning in find_near_misses(os.environ):
            output.talk(f"warning: {warning}")
    try:
        # not ROOT(), which ends the process in its own way
        with ROOT.make_context("gatepost", list(arguments)) as context:
            ROOT.invoke(context)
    except UnknownAddress as error:
        output.fail(error.message, explain_current_agent(error, arguments) or error.hint)
        return error.exit
    except GatepostError as error:
        output.fail(error.message, error.hint)
        return error.exit
    except click.ClickException as error:
        return _report_misuse(error, arguments)
    except click.exceptions.Exit as end:
        return end.exit_code
    except (BrokenPipeError, ModuleNotFoundError):
        raise
    except OSError as error:
        if error.filename is None:  # of the output
            raise
        output.fail(f"{error.filename!r}: {error.strerror}")
        return 3
    except Exception as error:  # noqa: BLE001 (no error of ours may end in a traceback)
        output.fail(f"internal error: {type(error).__name__}: {error}", "GATEPOST_DEBUG=1 prints where it happened")
        output.trace()
        return 1
    return 0


def _report_misuse(error: "click.ClickException", arguments: "Sequence[str]") -> int:
    """Print what is wrong with the words of a command, in the form of our errors."""
    from gatepost.cli import output, usage_errors

    if type(error).__name__ == "NoArgsIsHelpError":
        output.talk(error.format_message())
    else:
        output.fail(*usage_errors.explain(error, arguments))
    return 2


def _prepare_streams(*, is_gateway: bool) -> None:
    """
    Open /dev/null for each standard stream that is closed: a socket would take its number, which ends an event loop. A
    command without stdout ends, but a gateway does not need it. A character that the terminal cannot show is written as
    an escape.
    """
    if sys.stdout is None and not is_gateway:
        raise BrokenPipeError
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(number, True)
    os.close(number)
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8")  # noqa: SIM115 (until the process ends)
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _abandon_stdout() -> None:
    """Let nothing more be written to stdout, also not by the interpreter when it ends."""
    if sys.stdout is not None:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


if __name__ == "__main__":
    main()
