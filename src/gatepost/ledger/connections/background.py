"""
Post what connections with agents outside need: requests, answers and ends (HCS-10).

    asked for    a request on the inbound topic of the other, and a record of it on our outbound topic
    accepted     a topic to which both may write, an answer on our inbound topic, and a record on our outbound topic
    closed       the end on the topic of both, and a record on our outbound topic
"""

import json
from functools import partial
from typing import Any

from gatepost.directory.entity import Entity
from gatepost.errors import Invalid, Unavailable
from gatepost.jobs.job import Job
from gatepost.ledger.connections import actions as connections
from gatepost.ledger.connections.api import Connection, ConnectionState
from gatepost.ledger.hcs import hcs10_messages as hcs10, hcs11_profiles as hcs11
from gatepost.ledger.hcs.hcs10_messages import OperationCode, OperatorId, TopicCode
from gatepost.ledger.ledger_step_background import LedgerSteps, fetch_file
from gatepost.ledger.public_ledger import CreateTopic, TransactionRefused
from gatepost.ledger.topic import LedgerId


class LedgerConnections:
    def __init__(self, steps: LedgerSteps) -> None:
        self._steps = steps
        self._store = steps.store

    async def run_job(self, job: Job) -> None:
        named_topic: str | None = None
        id = job.payload
        if isinstance(id, dict):
            id, named_topic = id["id"], id["topic"]
        connection = await self._store.read(connections.find, id)
        entity = await self._store.read(connections.find_entity, connection)
        try:
            match connection.state:
                case ConnectionState.REQUESTED if named_topic is not None:
                    await self._confirm(connection, LedgerId.parse(named_topic))
                case ConnectionState.REQUESTED if not connection.is_incoming and connection.request is None:
                    await self._ask(connection, entity)
                case ConnectionState.ACCEPTING:
                    await self._accept(connection, entity)
                case ConnectionState.CLOSING:
                    await self._close(connection, entity)
                case _:
                    pass  # another process has done it
        except (TransactionRefused, Invalid) as error:
            await self._store.run(connections.end_connection, connection, error.message, lane="ledger")

    async def _ask(self, connection: Connection, entity: Entity) -> None:
        peer = LedgerId.parse(connection.peer_account)
        if connection.peer_inbound is not None:
            peer_inbound = LedgerId.parse(connection.peer_inbound)
        else:
            peer_inbound = LedgerId.parse(str((await self._read_profile(peer)).get("inboundTopicId")))
        own_id = await self._find_operator_id(entity)
        note = connection.note or ""
        receipt = await self._steps.submit(
            f"{connection.id}/request",
            peer_inbound,
            hcs10.build_connection_request(own_id, note),
            payer=own_id.account,
            signer=entity.name,
            memo=hcs10.build_transaction_memo(OperationCode.CONNECTION_REQUEST, TopicCode.INBOUND),
            is_foreign=True,
        )
        assert receipt.sequence is not None
        build = partial(hcs10.build_connection_request_record, OperatorId(peer_inbound, peer))
        outbound = await self._steps.ensure_outbound(entity)
        await self._record(
            connection,
            entity,
            own_id,
            build(outbound.ledger_id, receipt.sequence, note),
            OperationCode.CONNECTION_REQUEST,
        )
        await self._store.run(connections.save_request, connection.id, peer_inbound, receipt.sequence, lane="ledger")

    async def _confirm(self, connection: Connection, topic: LedgerId) -> None:
        """Open a connection that the other end has accepted, if the topic that it names was made for it."""
        info = await self._steps.ledger.read_topic(topic)
        if info is None:
            raise Unavailable(f"the topic {topic} of a connection is not there yet")
        assert connection.peer_inbound is not None
        if not _is_made_for(info.memo, LedgerId.parse(connection.peer_inbound), connection.request):
            raise Invalid(f"it has named the topic {topic}, which was not made for this connection")
        profile = await self._read_known_profile(LedgerId.parse(connection.peer_account))
        display = profile.get("display_name")
        await self._store.run(
            connections.open_connection,
            *(connection.id, topic),
            memo=info.memo,
            display=display if isinstance(display, str) else None,
            lane="ledger",
        )

    async def _accept(self, connection: Connection, entity: Entity) -> None:
        peer = LedgerId.parse(connection.peer_account)
        account = await self._steps.ledger.read_account(peer)
        if account is None or account.public_key is None:
            raise Invalid(f"the account {peer} has no single key")
        own_id = await self._find_operator_id(entity)
        assert connection.request is not None
        memo = hcs10.build_connection_memo(own_id.inbound, connection.request)
        keys = (await self._steps.find_key(entity.name), account.public_key)
        _, receipt = await self._steps.perform(
            f"{connection.id}/topic",
            own_id.account,
            CreateTopic(memo=memo, submit_keys=keys),
            signers=(entity.name,),
        )
        assert receipt.topic is not None
        answer = await self._steps.submit(
            f"{connection.id}/answer",
            own_id.inbound,
            hcs10.build_connection_created(own_id, receipt.topic, peer, connection.request),
            payer=own_id.account,
            signer=entity.name,
            memo=hcs10.build_transaction_memo(OperationCode.CONNECTION_CREATED, TopicCode.INBOUND),
        )
        assert answer.sequence is not None
        profile = await self._read_known_profile(peer)
        outbound = (await self._steps.ensure_outbound(entity)).ledger_id
        record = hcs10.build_connection_created_record(
            own_id,
            receipt.topic,
            outbound,
            requester_outbound=_find_outbound(profile),
            request=connection.request,
            confirmation=answer.sequence,
        )
        await self._record(connection, entity, own_id, record, OperationCode.CONNECTION_CREATED)
        display = profile.get("display_name")
        await self._store.run(
            connections.open_connection,
            *(connection.id, receipt.topic),
            memo=memo,
            display=display if isinstance(display, str) else None,
            lane="ledger",
        )

    async def _close(self, connection: Connection, entity: Entity) -> None:
        own_id = await self._find_operator_id(entity)
        assert connection.topic is not None
        topic = LedgerId.parse(connection.topic)
        await self._steps.submit(
            f"{connection.id}/close",
            topic,
            hcs10.build_close_connection(own_id),
            payer=own_id.account,
            signer=entity.name,
            memo=hcs10.build_transaction_memo(OperationCode.CONNECTION_CLOSED, TopicCode.CONNECTION),
            is_foreign=True,
        )
        record = hcs10.build_connection_closed(own_id, topic)
        await self._record(connection, entity, own_id, record, OperationCode.CONNECTION_CLOSED)
        await self._store.run(connections.end_connection, connection, lane="ledger")

    async def _find_operator_id(self, entity: Entity) -> OperatorId:
        account = await self._steps.ensure_account(entity)
        return OperatorId((await self._steps.ensure_inbound(entity)).ledger_id, account)

    async def _record(
        self, connection: Connection, entity: Entity, own_id: OperatorId, content: bytes, operation: OperationCode
    ) -> None:
        """Post a record to the outbound topic of an entity."""
        outbound = await self._steps.ensure_outbound(entity)
        memo = hcs10.build_transaction_memo(operation, TopicCode.OUTBOUND)
        submit = partial(self._steps.submit, f"{connection.id}/record-{operation.value}", outbound.ledger_id, content)
        await submit(payer=own_id.account, signer=entity.name, memo=memo)

    async def _read_profile(self, account: LedgerId) -> dict[str, Any]:
        """Return the profile of an agent outside, which the memo of its account names; raise Invalid without one."""
        info = await self._steps.ledger.read_account(account)
        if info is None:
            raise Invalid(f"there is no account {account}")
        content = await fetch_file(self._steps.ledger, hcs11.parse_account_memo(info.memo))
        try:
            profile = json.loads(content)
        except (ValueError, RecursionError):
            raise Invalid(f"the profile of the account {account} is not JSON") from None
        hcs11.validate_profile(profile, requires_uaid=False)  # older ones have none
        return dict(profile)

    async def _read_known_profile(self, account: LedgerId) -> dict[str, Any]:
        """Return the profile of an agent outside; an empty one if there is none that can be read."""
        try:
            return await self._read_profile(account)
        except Invalid:
            return {}


def _is_made_for(text: str, inbound: LedgerId, request: int | None) -> bool:
    """Return True if the memo of a topic says that it is for the connection of this request."""
    try:
        memo = hcs10.parse_connection_memo(text)
    except Invalid:
        return False
    return (memo.inbound, memo.request) == (inbound, request)


def _find_outbound(profile: dict[str, Any]) -> LedgerId | None:
    try:
        return LedgerId.parse(str(profile.get("outboundTopicId")))
    except Invalid:
        return None
