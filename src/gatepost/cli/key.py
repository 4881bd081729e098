"""`gatepost key`."""

from typing import Annotated

from gatepost.actions import keys as verbs
from gatepost.cli import here, output, words
from gatepost.cli.here import Json, Limit
from gatepost.cli.plain import Noun, argument, flag, option
from gatepost.core import wire
from gatepost.core.key import Key, KeyKind
from gatepost.core.times import format_rfc3339
from gatepost.errors import Invalid
from gatepost.runtime import admin_key

app = Noun(help="Keys: who may come in by HTTP, and as whom.")


@app.verb("create")
def create(
    agent: Annotated[str | None, option("--agent", "NAME", "To act as this one only.")] = None,
    trigger: Annotated[str | None, option("--trigger", "NAME", "To trigger this agent, and nothing else.")] = None,
    public: Annotated[bool, flag("--public", "To go with bearer tokens; it lets nobody in by itself.")] = False,
    name: Annotated[str, option("--name", "TEXT", "What it is for, for the list.")] = "",
    json: Json = False,
) -> None:
    """
    Make a key, and print it: this once, for only its hash is kept.

    It is the administrator's, unless it is for one agent, for triggering one agent, or public.

    Examples:
      gatepost key create --agent analyst --name laptop
      gatepost key create --trigger analyst --name jira
    """
    one, other = words.given(agent, "--agent"), words.given(trigger, "--trigger", "which")
    if sum((one is not None, other is not None, public)) > 1:
        raise Invalid("give only one of --agent, --trigger and --public")
    with here.opened() as place:
        if place.far is not None:
            made = place.far.ask(lambda far: far.create_key(agent=one, trigger=other, public=public, name=name))
            key, secret = made.key, made.secret
        else:
            kind: KeyKind = "agent" if one else "trigger" if other else "public" if public else "admin"
            secret = admin_key.generate_secret(public=public)
            key = place.near.call(verbs.create, kind=kind, secret=secret, entity=one or other, name=name)
    output.done(wire.write_key(key) | {"key": secret}, secret, f"{_scope(key)}; it is not shown again", json=json)


@app.verb("list")
def list_(limit: Limit = "100", json: Json = False) -> None:
    """
    List the keys there are and were, by their prefixes.

    Example:
      gatepost key list
    """
    most = words.number(limit, "--limit", most=100_000)
    with here.opened() as place:
        found = place.all(verbs.page, lambda far: far.keys, limit=most + 1)
    headings = ["PREFIX", "ID", "MADE", "STATE", "FOR", "NAME"]
    output.listing(found, most, headings, _row, wire.write_key, otherwise="there is no key", json=json)


@app.verb("revoke")
def revoke(
    key: Annotated[str, argument("KEY", "Its id or its prefix.")],
    json: Json = False,
) -> None:
    """
    Let a key be good for nothing from now on, and for good.

    Example:
      gatepost key revoke sk_Zm9vYmFy
    """
    with here.opened() as place:
        gone = place.call(verbs.revoke, lambda far: far.revoke_key, key)
    output.done(wire.write_key(gone), gone.prefix, "revoked", json=json)


def _scope(key: Key) -> str:
    match key.kind:
        case "admin":
            return "the administrator's"
        case "agent":
            return f"for {key.entity!r}"
        case "trigger":
            return f"for triggering {key.entity or key.trigger!r}"
        case "public":
            return "public"


def _row(key: Key) -> list[str]:
    state = "good" if key.revoked_at is None else f"revoked {format_rfc3339(key.revoked_at)[:10]}"
    return [key.prefix, key.id, format_rfc3339(key.created_at)[:10], state, _scope(key), key.name]
