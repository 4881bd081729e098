"""`gatepost trigger`: webhooks."""

import secrets
from base64 import b64encode
from typing import Annotated, Any

import msgspec
import typer

from gatepost.api.triggers import AddTrigger, ChangeTrigger, DeleteTrigger, ListTriggers, ShowTrigger, TriggerView
from gatepost.cli import output, words
from gatepost.cli.connect import connect
from gatepost.cli.plain import Json, Limit, Noun, argument, option
from gatepost.core import render
from gatepost.core.webhook import Scheme, check_trigger_name
from gatepost.errors import Invalid

app = Noun(help="Triggers: webhooks, by which other services tell agents something.")

Name = Annotated[str, argument("NAME", "The name of a trigger.")]

_SECRET_BYTES = 24


@app.verb("add")
def add(
    name: Name,
    to: Annotated[str, typer.Option("--to", metavar="ADDRESS", help="Who is told what comes.", show_default=False)],
    scheme: Annotated[
        str, option("--scheme", "SCHEME", f"How callers prove themselves: {', '.join(Scheme)}.")
    ] = Scheme.HEADER,
    secret: Annotated[
        str | None, option("--secret", "TEXT|-|@FILE", "What callers must have; else one is made and printed.")
    ] = None,
    prompt: Annotated[str | None, option("--prompt", "TEXT", "Added to everything that comes, as context.")] = None,
    owner: Annotated[str | None, option("--owner", "NAME", "Who is told when something is wrong; else admin.")] = None,
    json: Json = False,
) -> None:
    """
    Add a webhook, and print where it is called: POST /hooks/NAME on the gateway.

    The secret is never shown again. Slack and Stripe give you theirs; for the others one is made if none is given.
    Callers send it in the header X-Secret-Key, unless the scheme is another one.

    Examples:
      gatepost trigger add jira --to analyst --prompt "Triage this"
      gatepost trigger add github-main --to team:web --scheme github --secret @secret.txt
    """
    parsed_scheme = Scheme.parse(scheme)
    new_secret = _generate_secret(parsed_scheme) if secret is None else None
    request = AddTrigger(
        name=name,
        scheme=parsed_scheme,
        secret=new_secret or words.secret(secret or ""),
        target=to,
        prompt=prompt,
        owner=words.given(owner, "--owner"),
    )
    with connect() as connection:
        trigger = connection.send(request)
    if json:
        output.document(_build_document(trigger) | ({"secret": new_secret} if new_secret else {}))
        return
    output.line_out(_build_path(trigger))
    if new_secret:
        output.line_out(new_secret)
        output.talk("the second line is the secret, which is not shown again")
    output.talk(trigger.scheme.instructions)


@app.verb("list")
def list_(limit: Limit = "100", json: Json = False) -> None:
    """
    List the webhooks there are.

    Example:
      gatepost trigger list
    """
    count = words.number(limit, "--limit", most=100_000)
    with connect() as connection:
        triggers = connection.list_all(ListTriggers(), count + 1)
    headings = ["TRIGGER", "STATE", "SCHEME", "TO", "PROMPT"]
    output.listing(
        triggers, count, headings, _build_row, msgspec.to_builtins, otherwise="there is no trigger", json=json
    )


@app.verb("show")
def show(name: Name, json: Json = False) -> None:
    """
    Show a webhook, without its secret.

    Example:
      gatepost trigger show github-main
    """
    with connect() as connection:
        trigger = connection.send(ShowTrigger(name=check_trigger_name(name)))
    if json:
        output.document(_build_document(trigger))
        return
    output.facts(
        ("trigger", trigger.name),
        ("state", _get_state(trigger)),
        ("path", _build_path(trigger)),
        ("scheme", trigger.scheme),
        ("proof", trigger.scheme.instructions),
        ("to", trigger.target),
        ("prompt", trigger.prompt),
        ("owner", trigger.owner),
        ("since", trigger.created_at),
    )


@app.verb("enable")
def enable(name: Name, json: Json = False) -> None:
    """
    Open a webhook that was closed.

    Example:
      gatepost trigger enable github-main
    """
    _set_active(name, active=True, json=json)


@app.verb("disable")
def disable(name: Name, json: Json = False) -> None:
    """
    Close a webhook: it answers as if it were not there.

    Example:
      gatepost trigger disable github-main
    """
    _set_active(name, active=False, json=json)


@app.verb("delete")
def delete(name: Name, json: Json = False) -> None:
    """
    Delete a webhook; what came by it stays.

    Example:
      gatepost trigger delete github-main
    """
    with connect() as connection:
        connection.send(DeleteTrigger(name=check_trigger_name(name)))
    output.done({"name": name, "deleted": True}, name, "deleted", json=json)


def _set_active(name: str, *, active: bool, json: bool) -> None:
    with connect() as connection:
        trigger = connection.send(ChangeTrigger(name=check_trigger_name(name), active=active))
    output.done(msgspec.to_builtins(trigger), trigger.name, _get_state(trigger), json=json)


def _generate_secret(scheme: Scheme) -> str:
    if scheme in (Scheme.SLACK, Scheme.STRIPE):
        raise Invalid(f"{scheme.value} gives you the secret", hint="give it with --secret @FILE")
    if scheme is Scheme.STANDARD:
        return "whsec_" + b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()
    return secrets.token_urlsafe(_SECRET_BYTES)


def _build_document(trigger: TriggerView) -> dict[str, Any]:
    return {**msgspec.to_builtins(trigger), "path": _build_path(trigger)}


def _build_row(trigger: TriggerView) -> list[str]:
    prompt = render.quote(trigger.prompt) if trigger.prompt else ""
    return [trigger.name, _get_state(trigger), trigger.scheme.value, trigger.target, prompt]


def _get_state(trigger: TriggerView) -> str:
    return "open" if trigger.active else "closed"


def _build_path(trigger: TriggerView) -> str:
    return f"/hooks/{trigger.name}"
