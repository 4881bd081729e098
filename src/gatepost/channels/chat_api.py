"""
Chat: what a person types on the command line or on the page.

A person has a session on each of them (`cli-main` is that of the administrator, `cli-husam` that of Husam), and makes
others by naming them (`cli-husam@travel`). Answers are entries of the shared inbox in the same session.
"""

from typing import Annotated, Literal

from msgspec import UNSET, UnsetType

from gatepost.core.address import MAX_NAME_LENGTH
from gatepost.errors import Conflict, NotFound, Refused, TooLarge
from gatepost.operations.access import ActAs
from gatepost.operations.fields import Actor, describe
from gatepost.operations.operation import Request, View, write

#: the group of these operations in OpenAPI
TAG = "chat"


class ChatView(View, kw_only=True):
    """What became of a text. With `decision` it was the answer to a question, and no prompt."""

    session_id: str
    entry_id: Annotated[str | None, describe("entry of the shared inbox: the prompt, or the question it answers")]
    events: Annotated[list[str], describe("events in the inboxes of those who got it")]
    decision: Annotated[str | UnsetType, describe("decision that the text is an answer to")] = UNSET
    notice: Annotated[str | UnsetType, describe("what became of that answer")] = UNSET
    unrouted: Annotated[str | UnsetType, describe("id of the message that is kept because nobody gets it")] = UNSET


@write(
    "POST /api/chat",
    access=ActAs("sender", default="admin"),
    status=201,
    errors=(NotFound, Conflict, Refused, TooLarge),
    example={"content": "How far is the report?", "sender": "husam"},
)
class SendChat(Request[ChatView]):
    """
    Write as a person. A text that answers a question in the same session answers it; another one is a prompt, and goes
    to whom the rules name.
    """

    content: Annotated[str, describe("the text")] = ""
    to: Annotated[str | None, describe("address that gets it, instead of whom the rules name")] = None
    session: Annotated[
        str | None, describe("name of another channel session of the person", minLength=1, maxLength=MAX_NAME_LENGTH)
    ] = None
    channel: Annotated[Literal["cli", "web"], describe("where the person writes")] = "cli"
    reset: Annotated[bool, describe("begin the channel session anew, instead of a text")] = False
    sender: Actor = None
