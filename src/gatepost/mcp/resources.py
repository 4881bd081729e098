"""
Resources: what a host shows, or attaches to a prompt. Reading one changes nothing.

    inbox://{name}      the pending items of an inbox, most urgent first
    space://{id}        the last messages of a space
    decision://{id}     a decision
    work://{type}/{id}  a task, phase, stage or project

Each is read by the same operation as everywhere else, with the rights of its caller.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, unquote

import msgspec
from mcp import MCPError, types

from gatepost.core.signals import Topic
from gatepost.errors import GatepostError, Invalid, quote_value
from gatepost.gates.decision_api import ListDecisions, ShowDecision
from gatepost.inbox.item_api import PeekInbox, ShowAccount
from gatepost.mail.work_api import ShowWorkItem
from gatepost.mcp.server_port import Context, Host, Peer
from gatepost.operations.operation import Request
from gatepost.spaces.api import ListSpaces, ReadMessages, ShowSpace

_MIME_TYPE: Final = "application/json"
#: items, messages and decisions of a list
_LIMIT: Final = 50
_PARAMETER: Final = re.compile(r"\{(\w+)\}")
_encode: Final = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceKind:
    template: str
    title: str
    description: str
    #: the request that reads it, from the parameters in its URI
    build: Callable[..., Request[Any]]
    #: the requests whose answers change when it changes; cheaper than to read it, if there are such
    build_probes: Callable[..., Sequence[Request[Any]]]

    @property
    def scheme(self) -> str:
        return self.template.partition(":")[0]

    def match(self, uri: str) -> list[str] | None:
        """Return the parameters in a URI, if it is one of this kind."""
        pattern = _PARAMETER.sub(r"([^/?#]+)", self.template)
        match = re.fullmatch(pattern, uri)
        return [unquote(part) for part in match.groups()] if match else None


KINDS: Final = [
    ResourceKind(
        template="inbox://{name}",
        title="An inbox",
        description="The pending items of an inbox, most urgent first.",
        build=lambda name: PeekInbox(name=name, limit=_LIMIT),
        build_probes=lambda name: [ShowAccount(name=name), PeekInbox(name=name)],
    ),
    ResourceKind(
        template="space://{id}",
        title="A space",
        description="The last messages of a space.",
        build=lambda id: ReadMessages(id=id, limit=_LIMIT),
        build_probes=lambda id: [ShowSpace(id=id)],
    ),
    ResourceKind(
        template="decision://{id}",
        title="A decision",
        description="A question, its options, and its answer if it has one.",
        build=lambda id: ShowDecision(id=id),
        build_probes=lambda id: [ShowDecision(id=id)],
    ),
    ResourceKind(
        template="work://{type}/{id}",
        title="A work item",
        description="A task, phase, stage or project, with its last event.",
        build=lambda type, id: ShowWorkItem(type=type, id=id),
        build_probes=lambda type, id: [ShowWorkItem(type=type, id=id)],
    ),
]


class Resources:
    """The resources of one server."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def list(self, context: Context, _params: Any) -> types.ListResourcesResult:
        """List the inbox of the caller, its spaces, and its open decisions; nothing for one who is nobody yet."""
        try:
            peer = await self._host.identify(context)
            resources = [build_resource("inbox", peer.name, f"The inbox of {peer.name}")]
            spaces = await send_checked(peer, ListSpaces(limit=_LIMIT))
            resources += [build_resource("space", space.id, space.name) for space in spaces.items]
            decisions = await send_checked(peer, ListDecisions(pending=True, limit=_LIMIT))
            resources += [build_resource("decision", item.id, item.question[:100]) for item in decisions.items]
        except GatepostError:
            resources = []
        return types.ListResourcesResult(resources=resources)

    async def list_templates(self, _context: Context, _params: Any) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(
            resource_templates=[
                types.ResourceTemplate(
                    name=kind.scheme,
                    title=kind.title,
                    uri_template=kind.template,
                    description=kind.description,
                    mime_type=_MIME_TYPE,
                )
                for kind in KINDS
            ]
        )

    async def read(self, context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        try:
            peer = await self._host.identify(context)
            kind, parameters = _find_kind(params.uri)
            text = _encode(await send_checked(peer, kind.build(*parameters))).decode()
        except GatepostError as error:
            raise build_refusal(error, params.uri) from None
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=params.uri, mime_type=_MIME_TYPE, text=text)]
        )


def build_resource(scheme: str, id: str, title: str) -> types.Resource:
    return types.Resource(
        uri=f"{scheme}://{quote(id, safe='')}", name=f"{scheme}-{id}", title=title, mime_type=_MIME_TYPE
    )


def build_refusal(error: GatepostError, *uris: str) -> MCPError:
    """Return the protocol error for resources that cannot be read; one that stands alone is named in its data."""
    return MCPError(types.INVALID_PARAMS, error.message_with_hint, {"uri": uris[0]} if len(uris) == 1 else None)


async def read_version(peer: Peer, uri: str) -> bytes:
    """Return something that changes when a resource changes; raise an error if the caller may not read it."""
    kind, parameters = _find_kind(uri)
    answers = [await send_checked(peer, probe) for probe in kind.build_probes(*parameters)]
    return _encode(answers)


def get_topic(uri: str) -> Topic:
    """Return the topic of the signals that a resource may have changed."""
    kind, parameters = _find_kind(uri)
    return Topic.parse(":".join((kind.scheme, *parameters)))


async def send_checked(peer: Peer, request: Request[Any]) -> Any:
    request.operation.access.admit(peer.caller)
    return await peer.send(request)


def _find_kind(uri: str) -> tuple[ResourceKind, list[str]]:
    for kind in KINDS:
        if (parameters := kind.match(uri)) is not None:
            return kind, parameters
    raise Invalid(
        f"there is no resource {quote_value(uri, 100)}", hint=f"use {', '.join(kind.template for kind in KINDS)}"
    )
