"""Tasks by the package of npm that defines them: its schemas take our messages, and its client waits for an answer."""

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest

from gatepost.gates import decision_actions as decisions
from gatepost.gates.decision import AnswerSpec
from tests.mcp.mcp_setup import TRANSPORTS, McpSetup
from tests.mcp.raw_clients import open_raw_client
from tests.mcp.stdio_server import wait_until
from tests.programs import cache
from tests.programs.mcp.node_client import read_document
from tests.programs.mcp.test_clients import describe_server

ARGUMENTS: Final = {
    "question": "Ship it?",
    "of": ["husam"],
    "options": [{"id": "ship", "label": "Ship it"}],
    "free_text": True,
}
_SCRIPT: Final = Path(__file__).with_name("tasks.mjs")


def check_messages(messages: list[tuple[str, Any]]) -> list[Any]:
    """Return what the package says of each message."""
    node = cache.find_node()
    assert node is not None
    lines = "\n".join(json.dumps({"schema": schema, "message": message}) for schema, message in messages)
    command = [str(node), str(_SCRIPT), str(cache.find_folder()), "check"]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_every_message_is_one_of_the_extension(setup: McpSetup, transport: str) -> None:
    with open_raw_client(setup, transport) as client:
        tasks = [client.send("tools/call", name="ask_decision", arguments=ARGUMENTS)["result"] for _ in range(3)]
        answered, sent_back, cancelled = (task["taskId"] for task in tasks)
        messages = [("CreateTaskResultV2Schema", task) for task in tasks]
        messages.append(("GetTaskResultV2Schema", client.send("tasks/get", taskId=answered)["result"]))
        messages.append(("CancelTaskResultV2Schema", client.send("tasks/cancel", taskId=cancelled)["result"]))
        for id, answer in ((answered, AnswerSpec(option="ship")), (sent_back, AnswerSpec(text="why?", again=True))):
            setup.store.run_sync(decisions.answer, id, answer, by="husam")
        ended = [client.send("tasks/get", taskId=id)["result"] for id in (answered, sent_back, cancelled)]
        assert [task["status"] for task in ended] == ["completed", "completed", "cancelled"]
        messages += [("GetTaskResultV2Schema", task) for task in ended]
        messages += [("CallToolResultV2Schema", task["result"]) for task in ended[:2]]
        refusals = [
            client.send("tasks/get", taskId="dec_0"),
            client.send("tasks/update", taskId=answered, inputResponses={}),
            client.send("tasks/get", extensions={}, taskId=answered),
        ]
        messages += [("ErrorV2Schema", refusal["error"]) for refusal in refusals]
        capabilities = client.send("server/discover")["result"]["capabilities"]
        messages.append(("ServerTaskCapabilityEnvelopeV2Schema", capabilities))
    results = check_messages(messages)
    assert [result for result in results if not result["success"]] == []
    assert len(results) == len(messages)
    assert not check_messages([("GetTaskResultV2Schema", tasks[0])])[0]["success"], "it takes anything"


async def test_the_client_of_the_package_waits_for_the_answer(setup: McpSetup) -> None:
    node = cache.find_node()
    assert node is not None
    process = await asyncio.create_subprocess_exec(
        node, _SCRIPT, cache.find_folder(), "call", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdin is not None
    try:
        call = {**describe_server(setup, "http"), "name": "ask_decision", "arguments": ARGUMENTS}
        process.stdin.write(json.dumps(call).encode())
        process.stdin.close()
        assert (await read_document(process))["kind"] == "task"
        [decision] = setup.store.read_sync(decisions.list_page)
        await wait_until(lambda: not setup.list_http_requests())
        setup.store.run_sync(decisions.answer, decision.id, AnswerSpec(option="ship"), by="husam")
        settlement = await read_document(process)
        assert '"option": "ship"' in json.dumps(settlement)
        assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
