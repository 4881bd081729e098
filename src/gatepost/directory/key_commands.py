"""`gatepost key`."""

from contextlib import suppress
from typing import Annotated

import msgspec

from gatepost.cli import output
from gatepost.cli.command import Noun, TableRow
from gatepost.cli.gateway_or_store import connect
from gatepost.cli.parameters import JsonFlag, argument, flag, option
from gatepost.directory.key_api import CreateKey, KeyView, ListKeys, RevokeKey
from gatepost.errors import Invalid, Unavailable
from gatepost.settings import Configuration, gateway_files

keys = Noun("key", "Create, list and revoke the keys that programs use over HTTP.")
commands = [keys]


@keys.request("create", CreateKey, name=option("--name", "LABEL"))
def create(
    request: CreateKey,
    configuration: Configuration,
    admin: Annotated[bool, flag("--admin", "the key can do everything; this is the default")] = False,
    json: JsonFlag = False,
) -> None:
    """
    Create a key and print it. It is printed only this once, because only its hash is stored.

    It is a key of the administrator, unless it is for one agent, for triggering one agent, or public.

    Examples:
      gatepost key create --agent analyst --name laptop
      gatepost key create --trigger analyst --name jira
      gatepost key create --admin --name backup
    """
    if admin and (request.agent is not None or request.trigger is not None or request.public):
        raise Invalid("give only one of --admin, --agent, --trigger and --public")
    with connect(configuration) as connection:
        key = connection.send(request)
    scope = "public" if key.kind == "public" else f"for {_describe_scope(key)}"
    output.done(msgspec.to_builtins(key), key.key, f"{scope}; it is not shown again", json=json)


@keys.list("list", ListKeys, columns=("PREFIX", "ID", "CREATED", "STATE", "FOR", "NAME"), empty="no keys yet")
def list_keys(key: KeyView) -> TableRow:
    """
    List the keys by their prefixes, the revoked ones too.

    The browsers that are signed in to the page are among them.

    Example:
      gatepost key list
    """
    state = "valid" if key.revoked_at is None else f"revoked {key.revoked_at[:10]}"
    if key.expires_at and key.revoked_at is None:
        state = f"until {key.expires_at[:10]}"
    return [key.prefix, key.id, key.created_at[:10], state, _describe_scope(key), key.name]


@keys.request("revoke", RevokeKey, id=argument("KEY", "its id or its prefix"))
def revoke(request: RevokeKey, configuration: Configuration, json: JsonFlag = False) -> None:
    """
    Revoke a key for good. A browser whose key it is, is signed out.

    Commands use the key in the file admin.key of the home. After you have revoked it, remove the file and start the
    gateway again, which makes a new one.

    Example:
      gatepost key revoke sk_Zm9vYmFy
    """
    with connect(configuration) as connection:
        key = connection.send(request)
    output.done(
        msgspec.to_builtins(key), key.prefix, f"revoked the key {key.prefix!r}: it opens nothing any more", json=json
    )
    path = configuration.home / gateway_files.ADMIN_KEY
    with suppress(Unavailable):
        if gateway_files.read_admin_key(configuration.home).startswith(key.prefix):
            output.talk(f"this was the key in {str(path)!r}: {gateway_files.RENEW_HINT}")


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
        case "page" | "link":
            return f"the page, as {key.entity!r}"
