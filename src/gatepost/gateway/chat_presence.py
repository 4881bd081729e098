"""
Show on the page of a person that an agent thinks about what the person wrote on a channel.

It follows what processes signal: an event of a channel in the inbox of an agent, and the beginning and the end of the
agent's cycles. The readers of the inbox of the person get both with the channel and the session:

    agent.active  agent.inactive    {agent, agentName, runId, channel, sessionId}

Nothing depends on it, so a lost signal is not made up for. What an agent gets during a cycle is shown with the next
one.
"""

from collections import defaultdict
from typing import Any, Final

from gatepost.channels.conversation import Conversation
from gatepost.core.signals import Frame, Signal, TransportMessage
from gatepost.gateway.live_streams import LiveStreams
from gatepost.inbox.event import Event, EventType

#: conversations that one agent is shown to think about
_MAX_CONVERSATIONS: Final = 20
_AGENT: Final = "agent:"
_ACTIVE: Final = "agent.active"
_INACTIVE: Final = "agent.inactive"


class ChatPresence:
    def __init__(self, live_streams: LiveStreams) -> None:
        self._live_streams = live_streams
        #: by agent: conversations with a prompt that it has not begun to think about
        self._waiting: defaultdict[str, list[Conversation]] = defaultdict(list)
        #: by agent: those that its cycle is about
        self._shown: dict[str, list[Conversation]] = {}

    def on_signal(self, signal: TransportMessage) -> None:
        """Follow prompts and cycles; for `SignalBus.subscribe`."""
        match signal:
            case Signal(recipient=recipient, event=event) if event is not None:
                self._add_prompt(recipient, event)
            case Frame(topic=topic, event=name, data=data) if topic.startswith(_AGENT) and name in (_ACTIVE, _INACTIVE):
                agent = topic.removeprefix(_AGENT)
                self._send(_INACTIVE, data, self._shown.pop(agent, []))
                if name == _ACTIVE and (conversations := self._waiting.pop(agent, [])):
                    self._shown[agent] = conversations
                    self._send(_ACTIVE, data, conversations)
            case _:
                pass

    def _add_prompt(self, agent: str, event: Event) -> None:
        if event.type is not EventType.CHANNEL or event.route is None or event.sender is None:
            return
        conversation = Conversation(event.route.channel, event.route.session, event.sender.name)
        others = [other for other in self._waiting[agent] if other != conversation]
        self._waiting[agent] = [*others, conversation][-_MAX_CONVERSATIONS:]

    def _send(self, event: str, data: Any, conversations: list[Conversation]) -> None:
        for conversation in conversations:
            fields = {**data, "channel": conversation.channel, "sessionId": conversation.session}
            self._live_streams.on_signal(Frame(f"inbox:{conversation.person}", event, fields))
