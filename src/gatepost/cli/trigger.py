"""`gatepost trigger`: webhooks."""

import secrets
from base64 import b64encode
from typing import Annotated, Any, Final

import msgspec

from gatepost.api.triggers import AddTrigger, ChangeTrigger, DeleteTrigger, ListTriggers, ShowTrigger, TriggerView
from gatepost.cli import inputs, output
from gatepost.cli.command import Facts, Noun, Outcome, TableRow
from gatepost.cli.connect import connect
from gatepost.cli.parameters import JsonFlag, argument, option
from gatepost.core import render
from gatepost.core.webhook import Scheme, check_trigger_name
from gatepost.errors import Invalid
from gatepost.settings import Configuration

triggers = Noun("trigger", "Add, list and change triggers. A trigger is a webhook by which a service reaches agents.")
commands = [triggers]

NAME: Final = argument("NAME", "the name of a trigger", parse=check_trigger_name)
_SECRET_BYTES: Final = 24


@triggers.request(
    "add",
    AddTrigger,
    name=NAME,
    target=option("--to", "ADDRESS"),
    scheme=option("--scheme", "SCHEME", parse=Scheme.parse, default=Scheme.HEADER.value),
    secret="",  # see below
    prompt=option("--prompt", "TEXT"),
)
def add(
    request: AddTrigger,
    configuration: Configuration,
    secret: Annotated[
        str | None,
        option(
            "--secret",
            "TEXT|-|@FILE",
            "the secret of the callers; - reads stdin and @FILE a file, so that it is not in the history of your shell;"
            " by default a new one is made and printed",
            parse=inputs.read_secret,
        ),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """
    Add a webhook, and print its path: POST /hooks/NAME on the gateway.

    The secret is never shown again. Slack and Stripe give you theirs; for the others a new one is made if none is
    given. Callers send it in the header X-Secret-Key, unless the scheme is another one.

    Examples:
      gatepost trigger add jira --to analyst --prompt "Triage this"
      gatepost trigger add shop --to team:web --scheme github --secret @secret.txt
    """
    new_secret = _generate_secret(request.scheme) if secret is None else None
    with connect(configuration) as connection:
        trigger = connection.send(msgspec.structs.replace(request, secret=new_secret or secret or ""))
    if json:
        output.document(_build_document(trigger) | ({"secret": new_secret} if new_secret else {}))
        return
    output.line_out(_build_path(trigger))
    if new_secret:
        output.line_out(new_secret)
        output.talk("the second line is the secret, which is not shown again")
    output.talk(trigger.scheme.instructions)


def _generate_secret(scheme: Scheme) -> str:
    if scheme in (Scheme.SLACK, Scheme.STRIPE):
        raise Invalid(f"{scheme.value} gives you the secret", hint="give it with --secret @FILE")
    if scheme is Scheme.STANDARD:
        return "whsec_" + b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()
    return secrets.token_urlsafe(_SECRET_BYTES)


def _build_document(trigger: TriggerView) -> dict[str, Any]:
    return {**msgspec.to_builtins(trigger), "path": _build_path(trigger)}


@triggers.list("list", ListTriggers, columns=("TRIGGER", "STATE", "SCHEME", "TO", "PROMPT"), empty="no triggers yet")
def build_row(trigger: TriggerView) -> TableRow:
    """
    List the webhooks.

    Example:
      gatepost trigger list
    """
    prompt = render.quote(trigger.prompt) if trigger.prompt else ""
    return [trigger.name, _get_state(trigger), trigger.scheme.value, trigger.target, prompt]


@triggers.show("show", ShowTrigger, name=NAME, document=_build_document)
def list_facts(trigger: TriggerView) -> Facts:
    """
    Show a webhook, without its secret.

    Example:
      gatepost trigger show github-main
    """
    return [
        ("trigger", trigger.name),
        ("state", _get_state(trigger)),
        ("path", _build_path(trigger)),
        ("scheme", trigger.scheme),
        ("proof", trigger.scheme.instructions),
        ("to", trigger.target),
        ("prompt", trigger.prompt),
        ("owner", trigger.owner),
        ("since", trigger.created_at),
    ]


@triggers.send("enable", ChangeTrigger, name=NAME, active=True)
def describe_enabled(trigger: TriggerView) -> Outcome:
    """
    Open a webhook that was closed.

    Example:
      gatepost trigger enable github-main
    """
    return Outcome(trigger.name, f"{_build_path(trigger)} is open again")


@triggers.send("disable", ChangeTrigger, name=NAME, active=False)
def describe_disabled(trigger: TriggerView) -> Outcome:
    """
    Close a webhook: it answers as if it did not exist.

    Example:
      gatepost trigger disable github-main
    """
    return Outcome(trigger.name, f"{_build_path(trigger)} is closed: it answers as if it did not exist")


@triggers.send("delete", DeleteTrigger, name=NAME)
def describe_deleted(request: DeleteTrigger) -> Outcome:
    """
    Delete a webhook; the events that it received stay.

    Example:
      gatepost trigger delete github-main
    """
    return Outcome(request.name, f"deleted the trigger {request.name!r}", {"name": request.name, "deleted": True})


def _get_state(trigger: TriggerView) -> str:
    return "open" if trigger.active else "closed"


def _build_path(trigger: TriggerView) -> str:
    return f"/hooks/{trigger.name}"
