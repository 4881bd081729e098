"""Events as other programs write them, to the letter: a message, a plan and a service."""

from typing import Any, Final

MESSAGE_DOCUMENT: Final[dict[str, Any]] = {
    "eventId": "evt-abc-123",
    "type": "space_message",
    "timestamp": "2026-02-18T15:06:55Z",
    "data": {
        "spaceId": "space-xyz",
        "spaceName": "Project Alpha",
        "messageId": "msg-g7h8",
        "senderEntityId": "entity-husam",
        "senderName": "Husam",
        "senderType": "human",
        "content": "Pull the Q4 revenue numbers",
    },
}
PLAN_DOCUMENT: Final[dict[str, Any]] = {
    "eventId": "evt-plan-abc",
    "type": "plan",
    "timestamp": "2026-02-19T09:00:00Z",
    "data": {
        "planId": "plan-abc",
        "planName": "Daily Report",
        "instruction": "Generate and post the daily metrics summary",
    },
}
SERVICE_DOCUMENT: Final[dict[str, Any]] = {
    "eventId": "evt-svc-xyz",
    "type": "service",
    "timestamp": "2026-02-18T15:10:00Z",
    "data": {"serviceName": "jira-webhook", "payload": {"issue": "PROJ-123", "action": "created"}},
}
