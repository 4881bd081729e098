"""
A home in which a stranger has filled every field that a stranger can fill: names, questions, mail, notes, memories,
plans, payloads, and what a model says.
"""

from dataclasses import dataclass
from typing import Final

from gatepost import app, settings
from gatepost.channels import (
    conversation_actions as conversations,
    intake_actions as intake,
    pairing_actions as pairing,
)
from gatepost.channels.envelope import Envelope, EnvelopeKind
from gatepost.channels.triggers import actions as triggers
from gatepost.channels.triggers.actions import TriggerSpec
from gatepost.core.ports import Transaction
from gatepost.guests import session_actions as sessions
from tests.residents.model_server import Answer, CompletionRequest, Say, Script, Use
from tests.support.gateways.scripted_gateway import ScriptedGateway

#: what runs, reaches out, covers the page or turns what is around it, if it is not shown as text: first as Markdown,
#: then as a block of HTML, in which Markdown means nothing
HOSTILE: Final = (
    "**Win** [click](javascript:window.pwned=3) ![p](https://tracker.example/p.png) <b onclick=window.pwned=9>y</b>"
    " [data](data:text/html,pwned) <javascript:window.pwned=10> [relative](//evil.example)\n\n"
    "<script>window.pwned=1</script><img src=x onerror='window.pwned=2'>"
    " <a href='javascript:window.pwned=4'>x</a><svg onload=window.pwned=5>"
    " <style>body{display:none}</style><div style='position:fixed;inset:0'>cover</div>"
    " <iframe src='//evil.example'></iframe><form action='//evil.example'><input name=q autofocus></form>"
    " \u202egnp.exe \u2067turned\u2066 z\u0300\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308algo"
    f" {'W' * 200} {'> ' * 60}deep"
)
#: for fields of a line
HOSTILE_LINE: Final = "<img src=x onerror=window.pwned=6>\u202egnp.exe\u2067 " + "W" * 80
#: for names of entities, which are printable
HOSTILE_NAME: Final = "<img src=x onerror=window.pwned=7> \u05d4\u05e4\u05d5\u05da " + "W" * 80
#: the largest text that is accepted, in one word
LARGEST: Final = ("<b onclick=window.pwned=8>" + "M" * 300_000)[:262_144]
ADMIN: Final = "admin"
STRANGER: Final = "stranger"
GUEST: Final = "lodger"
SPACE: Final = "den"


@dataclass(frozen=True)
class HostileContent:
    """The ids of what is in it, for addresses."""

    ids: dict[str, str]

    def build_path(self, template: str) -> str:
        return template.format(**self.ids)


def fill_with_hostile_content(gateway: ScriptedGateway) -> HostileContent:
    ids = _add_everybody(gateway)
    ids |= _ask(gateway)
    ids |= _send_events(gateway)
    ids |= _plan(gateway)
    ids |= _use_channels(gateway)
    gateway.post("/inbox", to=STRANGER, source=HOSTILE_LINE, content="Think of something")
    ids["run"] = gateway.wait_for_runs(STRANGER, 1)[0]["id"]
    gateway.post("/ledger/sync")
    topics = gateway.get("/ledger/topics", limit=1000)["items"]
    ids["topic"] = next(topic["id"] for topic in topics if topic["entity"] == ADMIN and topic["kind"] == "inbound")
    return HostileContent(ids)


def think_as_stranger(request: CompletionRequest) -> Answer:
    """What the stranger's model says and does."""
    if request.tool_results:
        return Say(HOSTILE)
    return [
        Say(HOSTILE),
        Use("remember", {"key": HOSTILE_LINE, "value": HOSTILE}),
        Use("set_goal", {"description": HOSTILE}),
        Use("no_such_tool", {"argument": HOSTILE}),
        Use("enter_space", {"spaceId": SPACE}),
        Use("send_message", {"text": HOSTILE}),
    ]


STRANGER_SCRIPT: Final[Script] = think_as_stranger


def _add_everybody(gateway: ScriptedGateway) -> dict[str, str]:
    names = {"displayName": HOSTILE_NAME, "team": "raiders"}
    gateway.create_resident(STRANGER, instructions=HOSTILE, **names)
    gateway.post("/entities", name="visitor", kind="human", displayName=HOSTILE_NAME[::-1])
    gateway.post("/spaces", id=SPACE, name=HOSTILE_NAME, members=[ADMIN, "visitor", STRANGER])
    gateway.post_message(SPACE, HOSTILE, "visitor")
    gateway.post_message(SPACE, LARGEST, "visitor")
    gateway.post("/agents", name=GUEST, displayName=HOSTILE_NAME)
    gateway.post("/inbox", to=GUEST, source=HOSTILE_LINE, subject=HOSTILE_LINE, content=HOSTILE)
    printable = "".join(filter(str.isprintable, HOSTILE_LINE))
    gateway.post(f"/inbox/{GUEST}/claim", owner=printable[:200], hold="1h")
    with app.prepare_store(settings.load({"GATEPOST_HOME": str(gateway.gateway.home)})) as store:
        store.run_sync(sessions.begin, HOSTILE_LINE, agent=GUEST, host=HOSTILE_LINE)
    return {"guest": GUEST}


def _ask(gateway: ScriptedGateway) -> dict[str, str]:
    options = [{"id": f"o{number}", "label": f"{number} {HOSTILE_LINE}", "description": HOSTILE} for number in range(3)]
    question = {"question": HOSTILE, "asker": STRANGER, "of": [ADMIN], "context": HOSTILE}
    about = {"ref": {"type": "task", "id": HOSTILE_LINE}}
    decision = gateway.post("/decisions", **question, options=options, freeText=True, within="2h", **about)
    gateway.post("/decisions", **question, action={"name": HOSTILE_NAME, "args": {HOSTILE_LINE: HOSTILE}})
    ended = gateway.post("/decisions", **question, options=options, freeText=True)
    gateway.put(f"/decisions/{ended['id']}/answer", option="o1", text=HOSTILE, by=ADMIN)
    gate = gateway.post("/gates", name=HOSTILE_NAME, owner=STRANGER, instruction=HOSTILE, within="1d")
    ended_gate = gateway.post("/gates", name=HOSTILE_NAME, owner=STRANGER, instruction=HOSTILE)
    gateway.put(f"/gates/{ended_gate['id']}/resolution", reason=HOSTILE, by=ADMIN)
    ids = {"decision": decision["id"], "gate": gate["id"]}
    return ids | {"ended_decision": ended["id"], "ended_gate": ended_gate["id"]}


def _send_events(gateway: ScriptedGateway) -> dict[str, str]:
    fields = {"subject": HOSTILE_LINE, "content": HOSTILE, "data": {HOSTILE_LINE: [HOSTILE]}, "dedupKey": HOSTILE_LINE}
    about = {"ref": {"type": "task", "id": HOSTILE_LINE}}
    item = gateway.post("/inbox", to=ADMIN, source=HOSTILE_LINE, priority="critical", type="alert", **fields, **about)
    gateway.post("/inbox", to=ADMIN, source="big", content=LARGEST)
    gateway.post("/mail", to=ADMIN, sender="visitor", subject=HOSTILE_LINE, payload={"text": HOSTILE, "x": HOSTILE})
    mail = gateway.post("/mail", to="visitor", sender=ADMIN, subject=HOSTILE_LINE, text=HOSTILE)
    gateway.post("/work", type="task", id="raid", title=HOSTILE_NAME, madeBy=STRANGER)
    gateway.post("/work/task/raid/notes", note=HOSTILE, notify=[ADMIN], sender="visitor")
    return {"item": item["eventId"], "mail": mail["id"]}


def _plan(gateway: ScriptedGateway) -> dict[str, str]:
    plan = gateway.post("/plans", owner=STRANGER, name=HOSTILE_NAME, instruction=HOSTILE, cron="0 9 * * 1")
    gateway.post("/plans", owner="visitor", name=HOSTILE_NAME, instruction=HOSTILE, runAfter="3 hours")
    gateway.post("/plans", owner="visitor", name=HOSTILE_NAME, instruction=HOSTILE, cron="@daily", active=False)
    gateway.post(
        "/triggers", name="raid-hook", provider="webhook", target="visitor", prompt=HOSTILE[:900], secret="x" * 40
    )
    route = gateway.post("/routes", name=HOSTILE_NAME[:90], targets=["visitor"], filters={"payload.x": HOSTILE_LINE})
    return {"plan": plan["id"], "trigger": "raid-hook", "route": route["id"]}


def _use_channels(gateway: ScriptedGateway) -> dict[str, str]:
    """Let a user of a bot ask to be let in, and write what nobody gets; the bot itself is closed."""
    chat = gateway.post("/chat", content=HOSTILE, to=STRANGER, session="raid", channel="web", sender=ADMIN)
    with app.prepare_store(settings.load({"GATEPOST_HOME": str(gateway.gateway.home)})) as store:
        store.run_sync(_add_bot)
    letters = gateway.get("/routes/dead-letters")["items"]
    return {"session": chat["sessionId"], "entry": chat["entryId"] or "", "letter": letters[0]["id"] if letters else ""}


def _add_bot(tx: Transaction) -> None:
    trigger = triggers.add(tx, TriggerSpec(name="raid-bot", provider="telegram", secret="700000001:AAF" + "x" * 32))
    triggers.change(tx, trigger.name, {"active": False})
    pairing.request(tx, trigger, chat="7", user_id="7", display=HOSTILE_LINE, random_bits=7)
    envelope = Envelope(
        channel="telegram",
        session="7:7",
        kind=EnvelopeKind.TEXT,
        content=HOSTILE,
        payload={HOSTILE_LINE: HOSTILE},
        metadata={
            "telegram_chat_id": "7",
            "telegram_user_id": "7",
            "telegram_message_id": "7",
            "username": HOSTILE_LINE,
        },
        display=HOSTILE_LINE,
        user="7",
        chat="7",
    )
    conversations.ensure_session(tx, "telegram", "7:7", trigger=trigger, chat="7", user_id="7", display=HOSTILE_LINE)
    intake.receive(tx, trigger, envelope, dedup_key="raid")
