"""`gatepost trigger`: webhooks."""

import secrets
from base64 import b64encode
from dataclasses import asdict
from typing import Annotated

import typer

from gatepost.actions import triggers as verbs
from gatepost.actions.triggers import TriggerSpec
from gatepost.cli import here, output, words
from gatepost.cli.here import Json, Limit
from gatepost.cli.plain import Noun, argument, option
from gatepost.core import render, webhook, wire
from gatepost.core.times import format_rfc3339
from gatepost.core.trigger import Trigger
from gatepost.core.webhook import Scheme
from gatepost.errors import Invalid

app = Noun(help="Triggers: webhooks, by which other services tell agents something.")

Name = Annotated[str, argument("NAME", "The name of a trigger.")]

#: bytes of a secret
_STRENGTH = 24


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
    by = Scheme.parse(scheme)
    made = _made(by) if secret is None else None
    wish = TriggerSpec(
        name=name,
        scheme=by,
        secret=made or words.secret(secret or ""),
        target=to,
        prompt=prompt,
        owner=words.given(owner, "--owner"),
    )
    webhook.prepare_secret(wish.scheme, wish.secret)
    with here.opened() as place:
        added = place.do(lambda near: near.call(verbs.add, wish), lambda far: far.add_trigger(**asdict(wish)))
    if json:
        output.document(wire.write_trigger(added) | {"path": _path(added)} | ({"secret": made} if made else {}))
        return
    output.line_out(_path(added))
    if made:
        output.line_out(made)
        output.talk("the second line is the secret, which is not shown again")
    output.talk(added.scheme.instructions)


@app.verb("list")
def list_(limit: Limit = "100", json: Json = False) -> None:
    """
    List the webhooks there are.

    Example:
      gatepost trigger list
    """
    most = words.number(limit, "--limit", most=100_000)
    with here.opened() as place:
        found = place.all(verbs.page, lambda far: far.triggers, limit=most + 1)
    headings = ["TRIGGER", "STATE", "SCHEME", "TO", "PROMPT"]
    output.listing(found, most, headings, _row, wire.write_trigger, otherwise="there is no trigger", json=json)


@app.verb("show")
def show(name: Name, json: Json = False) -> None:
    """
    Show a webhook, without its secret.

    Example:
      gatepost trigger show github-main
    """
    with here.opened() as place:
        found = place.look(verbs.show, lambda far: far.show_trigger, name)
    if json:
        output.document(wire.write_trigger(found) | {"path": _path(found)})
        return
    output.facts(
        ("trigger", found.name),
        ("state", _state(found)),
        ("path", _path(found)),
        ("scheme", found.scheme),
        ("proof", found.scheme.instructions),
        ("to", found.target),
        ("prompt", found.prompt),
        ("owner", found.owner),
        ("since", format_rfc3339(found.created_at)),
    )


@app.verb("enable")
def enable(name: Name, json: Json = False) -> None:
    """
    Open a webhook that was closed.

    Example:
      gatepost trigger enable github-main
    """
    _activate(name, active=True, json=json)


@app.verb("disable")
def disable(name: Name, json: Json = False) -> None:
    """
    Close a webhook: it answers as if it were not there.

    Example:
      gatepost trigger disable github-main
    """
    _activate(name, active=False, json=json)


@app.verb("delete")
def delete(name: Name, json: Json = False) -> None:
    """
    Delete a webhook; what came by it stays.

    Example:
      gatepost trigger delete github-main
    """
    with here.opened() as place:
        place.call(verbs.delete, lambda far: far.delete_trigger, name)
    output.done({"name": name, "deleted": True}, name, "deleted", json=json)


def _activate(name: str, *, active: bool, json: bool) -> None:
    with here.opened() as place:
        changed = place.call(verbs.set_active, lambda far: far.activate_trigger, name, active)
    output.done(wire.write_trigger(changed), changed.name, _state(changed), json=json)


def _made(scheme: Scheme) -> str:
    if scheme in (Scheme.SLACK, Scheme.STRIPE):
        raise Invalid(f"{scheme.value} gives you the secret", hint="give it with --secret @FILE")
    if scheme is Scheme.STANDARD:
        return "whsec_" + b64encode(secrets.token_bytes(_STRENGTH)).decode()
    return secrets.token_urlsafe(_STRENGTH)


def _row(trigger: Trigger) -> list[str]:
    prompt = render.quote(trigger.prompt) if trigger.prompt else ""
    return [trigger.name, _state(trigger), trigger.scheme.value, trigger.target, prompt]


def _state(trigger: Trigger) -> str:
    return "open" if trigger.active else "closed"


def _path(trigger: Trigger) -> str:
    return f"/hooks/{trigger.name}"
