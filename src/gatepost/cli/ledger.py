"""`gatepost ledger`: prove what is on a ledger."""

from typing import Annotated

from click.exceptions import Exit

from gatepost.cli import inputs, output
from gatepost.cli.command import Noun
from gatepost.cli.parameters import JsonFlag, argument
from gatepost.core import ledger as rules
from gatepost.core import mirror
from gatepost.core.ledger import Proof, Verdict

ledger = Noun("ledger", "Prove what is on a ledger.")
commands = [ledger]


@ledger.command("verify")
def verify(
    file: Annotated[str, argument("FILE|-", "messages of topics, as a mirror node gives them; - is stdin")],
    json: JsonFlag = False,
) -> None:
    """
    Check the running hashes of messages. It prints how many are proved, and the first that is not right.

    The running hash of a message is computed from the message and the one before it. The first message in the file is
    taken as it is, unless it is the first of its topic. Exits with 1 if a message is changed, missing or moved.

    Examples:
      gatepost ledger verify messages.json
      curl -s "$MIRROR/api/v1/topics/0.0.123/messages" | gatepost ledger verify -
    """
    messages = sorted(mirror.parse_messages(inputs.read_document(file)), key=lambda message: message.topic)
    verdicts = list(rules.verify(messages))
    proved_count = sum(verdict.proof is Proof.PROVED for verdict in verdicts)
    wrong_verdicts = [verdict for verdict in verdicts if verdict.proof is Proof.WRONG]
    unknown_count = len(verdicts) - proved_count - len(wrong_verdicts)
    document = {
        "messages": len(verdicts),
        "proved": proved_count,
        "unknown": unknown_count,
        "wrong": len(wrong_verdicts),
        "firstWrong": _build_document(wrong_verdicts[0]) if wrong_verdicts else None,
    }
    summary = f"{output.count(proved_count, 'message')} of {len(verdicts)} proved"
    output.done(document, summary, _describe_unknown(unknown_count), json=json)
    if wrong_verdicts:
        first = wrong_verdicts[0]
        output.talk(f"message {first.message.sequence} of {first.message.topic} is not right: {first.reason}")
        raise Exit(1)


def _describe_unknown(count: int) -> str:
    if not count:
        return ""
    return f"{output.count(count, 'message')} cannot be checked: the message before is not in the file"


def _build_document(verdict: Verdict) -> dict[str, object]:
    return {
        "topicId": str(verdict.message.topic),
        "sequenceNumber": verdict.message.sequence,
        "reason": verdict.reason,
    }
