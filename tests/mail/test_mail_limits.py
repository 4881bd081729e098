"""What an entity may send in a day, and whose thread a reply joins."""

from typing import Any

import httpx2

from gatepost.core.policy import Policy
from tests.support.gateways.local_gateways import Gateway, create_entities, open_gateway


async def post(client: httpx2.AsyncClient, path: str, status: int, **body: Any) -> dict[str, Any]:
    answer = await client.post(path, json=body)
    assert answer.status_code == status, answer.text
    document: dict[str, Any] = answer.json()
    return document


async def test_mails_notes_and_work_events_of_a_day_are_limited_together(url: str) -> None:
    async with open_gateway(url, policy=Policy(sent=3)) as gateway, gateway.open_client() as client:
        create_entities(gateway.store)
        await post(client, "/api/work", 201, type="task", id="7", title="Schema")
        await post(client, "/api/mail", 201, sender="analyst", to="designer", text="one")
        await post(client, "/api/work/task/7/notes", 201, sender="analyst", note="two")
        await post(client, "/api/mail", 201, sender="analyst", to="designer", text="three")
        refusal = await post(client, "/api/mail", 409, sender="analyst", to="designer", text="four")
        assert refusal["type"] == "urn:gatepost:problem:limit-reached"
        assert refusal["hint"] == "wait, or raise limits.sent"
        await post(client, "/api/mail", 201, sender="designer", to="analyst", text="others have their own")


async def test_a_pushed_thread_counts_only_if_both_are_in_it(gateway: Gateway) -> None:
    """Else the reply of one would go into a conversation of others, by the word of a third."""
    async with gateway.open_client() as client:
        first = await post(client, "/api/mail", 201, sender="analyst", to="husam", text="between us")

        async def reply_to_push(sender: str, thread: str) -> str:
            data = {"threadId": thread}
            push = await post(client, "/api/inbox", 201, sender=sender, to="analyst", content="?", data=data)
            reply = await post(client, "/api/mail", 201, sender="analyst", replyTo=push["eventId"], text="well")
            return str(reply["threadId"])

        assert await reply_to_push("designer", first["threadId"]) != first["threadId"]
        assert await reply_to_push("husam", first["threadId"]) == first["threadId"]
        assert await reply_to_push("designer", "of another system") == "of another system"
