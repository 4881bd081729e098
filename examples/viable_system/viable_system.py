"""
A viable system: teams with System1 to System5 as plain agents, and the built-in `user-agent` as their door.

Stafford Beer's model gives every team five functions. Here each is an agent with a role in its team; Gatepost knows
no more of them than these addresses:

    team:root/system4    gets what people write, from the user-agent
    team:root/system3    owns the triggers

These agents are functions, so that the example needs no model. Give them one (`post.agent(name, model=...,
instructions=...)`), and nothing else changes.
"""

import asyncio
import tempfile
from pathlib import Path

from gatepost import Gatepost
from gatepost.channels.chat_api import SendChat
from gatepost.channels.shared_inbox.api import ListSharedEntries
from gatepost.channels.triggers.api import AddTrigger
from gatepost.channels.webhooks.verification import Scheme
from gatepost.directory.entity_api import ChangeEntity
from gatepost.inbox.event import Answered, Mailed, PromptReceived
from gatepost.residents.background.function_agent import AgentContext, EventBatch
from gatepost.residents.runs.api import ListRuns

TEAMS = ("root", "shop")
ROLES = ("system1", "system2", "system3", "system4", "system5")
MARKETS = [{"id": "europe", "label": "Europe"}, {"id": "asia", "label": "Asia"}]


async def operate(batch: EventBatch, me: AgentContext) -> None:
    """System1 does the work."""
    for order in batch.of(Mailed):
        await me.reply(order, f"done: {order.text}")


async def control(batch: EventBatch, me: AgentContext) -> None:
    """System3 hands orders of System4 to System1, and reports what is done."""
    for event in batch:
        if event.sender is not None and event.sender.name == "root-system4":
            await me.mail("team:root/system1", event.content)
        elif event.content.startswith("done:"):
            await me.mail("root-system4", event.content)


async def plan_ahead(batch: EventBatch, me: AgentContext) -> None:
    """System4 talks with people: it asks before it plans, and answers on the channel that they wrote on."""
    for prompt in batch.of(PromptReceived):
        await me.use("ask_decision", question="Which market first?", options=MARKETS, event=prompt.session)
    for answer in batch.of(Answered):
        await me.mail("team:root/system3", f"open a shop in {answer.text}")
    for report in batch.of(Mailed):
        await me.use("reply", event="cli-husam", text=f"Your shop: {report.text}")


async def stay_silent(batch: EventBatch, me: AgentContext) -> None:
    """System2 (coordination) and System5 (policy) have nothing to do in this story."""


FUNCTIONS = {"system1": operate, "system3": control, "system4": plan_ahead}


def build_system(store: str) -> Gatepost:
    post = Gatepost(store)
    for team in TEAMS:
        for role in ROLES:
            post.agent(f"{team}-{role}")(FUNCTIONS.get(role, stay_silent))
    post.agent("user-agent", model="user-agent")
    return post


async def join_teams(post: Gatepost) -> None:
    for team in TEAMS:
        for role in ROLES:
            await post.send(ChangeEntity(name=f"{team}-{role}", team=team, role=role))


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        post = build_system(f"sqlite:///{Path(folder, 'system.db')}")
        async with post:
            await join_teams(post)
            await post.person("husam")

            await post.send(SendChat(sender="husam", content="Where do we sell next?"))
            await post.until_idle()
            await post.send(SendChat(sender="husam", content="Europe"))
            await post.until_idle()

            for entry in (await post.send(ListSharedEntries(session="cli-husam"))).items:
                answer = f" -> {entry.answer}" if entry.answer else ""
                print(f"{entry.sender}: {entry.content}{answer}")
            runs = (await post.send(ListRuns(agent="user-agent"))).items
            print(f"user-agent: {[run.summary for run in runs]}")
            trigger = await post.send(
                AddTrigger(
                    name="releases",
                    scheme=Scheme.GITHUB,
                    secret="a-long-shared-secret",
                    target="team:root/system1",
                )
            )
            print(f"the trigger {trigger.name} is owned by {trigger.owner}")


asyncio.run(main())
