"""`gatepost key`."""

from gatepost.api.keys import CreateKey, KeyView, ListKeys, NewKeyView, RevokeKey
from gatepost.cli.command import Noun, Outcome, TableRow
from gatepost.cli.parameters import argument, option

keys = Noun("key", "Create, list and revoke the keys that programs use over HTTP.")
commands = [keys]


@keys.send("create", CreateKey, name=option("--name", "TEXT"))
def describe_new_key(key: NewKeyView) -> Outcome:
    """
    Create a key and print it. It is printed only this once, because only its hash is stored.

    It is a key of the administrator, unless it is for one agent, for triggering one agent, or public.

    Examples:
      gatepost key create --agent analyst --name laptop
      gatepost key create --trigger analyst --name jira
    """
    scope = "public" if key.kind == "public" else f"for {_describe_scope(key)}"
    return Outcome(key.key, f"{scope}; it is not shown again")


@keys.list("list", ListKeys, columns=("PREFIX", "ID", "CREATED", "STATE", "FOR", "NAME"), empty="no keys yet")
def build_row(key: KeyView) -> TableRow:
    """
    List the keys by their prefixes, the revoked ones too.

    Example:
      gatepost key list
    """
    state = "valid" if key.revoked_at is None else f"revoked {key.revoked_at[:10]}"
    return [key.prefix, key.id, key.created_at[:10], state, _describe_scope(key), key.name]


@keys.send("revoke", RevokeKey, id=argument("KEY", "its id or its prefix"))
def describe_revoked_key(key: KeyView) -> Outcome:
    """
    Revoke a key for good.

    Example:
      gatepost key revoke sk_Zm9vYmFy
    """
    return Outcome(key.prefix, "revoked")


def _describe_scope(key: KeyView) -> str:
    match key.kind:
        case "admin":
            return "the administrator"
        case "agent":
            return repr(key.entity)
        case "trigger":
            return f"triggering {key.entity or key.trigger!r}"
        case "public":
            return "callers with a token"
