"""`gatepost key`."""

from typing import Annotated

import msgspec

from gatepost.api.keys import CreateKey, KeyView, ListKeys, RevokeKey
from gatepost.cli import output, words
from gatepost.cli.connect import connect
from gatepost.cli.plain import Json, Limit, Noun, argument, flag, option
from gatepost.errors import Invalid

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
    agent, trigger = words.given(agent, "--agent"), words.given(trigger, "--trigger", "which")
    if sum((agent is not None, trigger is not None, public)) > 1:
        raise Invalid("give only one of --agent, --trigger and --public")
    with connect() as connection:
        key = connection.send(CreateKey(agent=agent, trigger=trigger, public=public, name=name))
    output.done(msgspec.to_builtins(key), key.key, f"{_describe_scope(key)}; it is not shown again", json=json)


@app.verb("list")
def list_(limit: Limit = "100", json: Json = False) -> None:
    """
    List the keys there are and were, by their prefixes.

    Example:
      gatepost key list
    """
    count = words.number(limit, "--limit", most=100_000)
    with connect() as connection:
        keys = connection.list_all(ListKeys(), count + 1)
    headings = ["PREFIX", "ID", "MADE", "STATE", "FOR", "NAME"]
    output.listing(keys, count, headings, _build_row, msgspec.to_builtins, otherwise="there is no key", json=json)


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
    with connect() as connection:
        revoked_key = connection.send(RevokeKey(id=key))
    output.done(msgspec.to_builtins(revoked_key), revoked_key.prefix, "revoked", json=json)


def _describe_scope(key: KeyView) -> str:
    match key.kind:
        case "admin":
            return "the administrator's"
        case "agent":
            return f"for {key.entity!r}"
        case "trigger":
            return f"for triggering {key.entity or key.trigger!r}"
        case "public":
            return "public"


def _build_row(key: KeyView) -> list[str]:
    state = "good" if key.revoked_at is None else f"revoked {key.revoked_at[:10]}"
    return [key.prefix, key.id, key.created_at[:10], state, _describe_scope(key), key.name]
