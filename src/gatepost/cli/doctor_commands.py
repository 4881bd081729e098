"""`gatepost doctor`: everything that is wrong in a home, or will fail later, and how to mend it."""

from dataclasses import asdict

from click.exceptions import Exit

from gatepost.cli import output
from gatepost.cli.command import build_verb
from gatepost.cli.parameters import JsonFlag
from gatepost.core.escaping import escape_invisible


def doctor(json: JsonFlag = False) -> None:
    """
    Check everything that could fail later: the home, settings, keys, the gateway, drivers and libraries, hooks, the
    store, clocks, models, triggers and rules.

    Prints a line for each check, with the fix of what is wrong, and exits with 1 if something is wrong. It changes
    nothing, and makes no store.

    Examples:
      gatepost doctor
      gatepost doctor --json
    """
    from gatepost.cli.doctor.checks import run_checks  # help does without

    findings = list(run_checks())
    if json:
        output.document([asdict(finding) | {"hint": None if finding.ok else finding.hint} for finding in findings])
    else:
        for finding in findings:
            detail = escape_invisible(finding.detail)
            output.line_out(f"{'ok' if finding.ok else 'wrong':<5}  {finding.check:<9}  {detail}")
            if finding.hint and not finding.ok:
                output.line_out(f"{'':<5}  {'':<9}  hint: {escape_invisible(finding.hint)}")
    if not all(finding.ok for finding in findings):
        raise Exit(1)


commands = [build_verb("doctor", doctor, "Check everything that could fail later.")]
