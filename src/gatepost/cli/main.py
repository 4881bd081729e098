"""
How a command begins and ends.

    0    done
    1    no: a check that says no, nothing of that name, not in that state
    2    wrong use or bad input; nothing was stored
    3    what is needed cannot be reached
    130  interrupted      141  whoever read the output went away      129, 143  an export was ended by SIGHUP, SIGTERM

Every error is one sentence on stderr, often with a hint. A traceback is shown only with GATEPOST_DEBUG=1. The commands
are imported late, so that this holds as early as it can, and because a hook must start fast: it ends in its own way.
"""

import os
import sys
from io import TextIOWrapper

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    import typer


def main() -> None:
    code = run(sys.argv[1:])
    if sys.argv[1:2] == ["hook"]:
        os._exit(code)  # all is written out, and tidying up takes time
    sys.exit(code)


def run(arguments: "Sequence[str]") -> int:
    """Run a command and return how it ended; nothing is raised."""
    if list(arguments[:1]) == ["hook"] and not {"-h", "--help"}.intersection(arguments):
        from gatepost.cli import hook

        return hook.answer(arguments[1:])
    try:
        _speak_plainly()
        code = _ended(arguments)
        if code == 0:
            sys.stdout.flush()
        else:
            _flush_what_can_be()
    except KeyboardInterrupt:
        import warnings

        warnings.simplefilter("ignore")  # a step that was interrupted before it began is dropped, and that is well
        return 130
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else 0
    except BrokenPipeError:
        _leave_stdout()
        return 141
    except OSError as error:
        _leave_stdout()
        print(f"error: the output cannot be written: {error.strerror}", file=sys.stderr)
        return 3
    return code


def _ended(arguments: "Sequence[str]") -> int:
    import typer

    from gatepost.cli import output
    from gatepost.cli.commands import app, build_command
    from gatepost.cli.completion import complete
    from gatepost.errors import GatepostError

    if "_GATEPOST_COMPLETE" in os.environ:
        complete(app)
    try:
        # not app(), which has its own way of ending
        with build_command().make_context("gatepost", list(arguments)) as context:
            context.command.invoke(context)
    except GatepostError as error:
        output.fail(error.message, error.hint)
        return error.exit
    except typer.TyperException as error:
        return _misused(error)
    except typer.Exit as ended:
        return ended.exit_code
    except BrokenPipeError:
        raise
    except OSError as error:
        output.fail(
            f"{error.filename!r}: {error.strerror}"
            if error.filename
            else f"cannot read or write: {error.strerror or error}"
        )
        return 3
    except Exception as error:  # noqa: BLE001 (whatever it was, nobody should have to read a traceback)
        output.fail(f"something went wrong inside: {type(error).__name__}: {error}", "GATEPOST_DEBUG=1 shows where")
        output.trace()
        return 1
    return 0


def _misused(error: "typer.TyperException") -> int:
    """Say what is wrong with the words of a command, in our way of saying it."""
    import re

    from gatepost.cli import output

    said = error.format_message()
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        output.talk(said)
        return 2
    message, _, rest = re.sub(r"\.? (?=\(?(?:Did you mean|Possible options))", "\n", said).partition("\n")
    message = message[:1].lower() + message[1:].rstrip(".")
    hint = rest.strip("()").lower() if rest else ""
    if not hint and "extra argument" in message:
        hint = "put quotes around text with spaces in it"
    if not hint and context is not None:
        hint = f"`{context.command_path} --help` shows how"
    output.fail(message, hint)
    return 2


def _speak_plainly() -> None:
    """Whatever the terminal can show: a character it cannot is written as an escape, not as an error."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 (for as long as we live)
    if sys.stdout is None:
        raise BrokenPipeError
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _flush_what_can_be() -> None:
    """It has been said already what went wrong; that the rest cannot be written either need not be."""
    try:
        sys.stdout.flush()
    except OSError:
        _leave_stdout()


def _leave_stdout() -> None:
    """Let nothing more be written there, also not by the interpreter when it ends."""
    if sys.stdout is not None:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


if __name__ == "__main__":
    main()
