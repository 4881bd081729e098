"""Channels: their conversations, and the users who are let in."""

from gatepost.channels import conversation_actions as conversations, conversation_api as api, pairing_actions as pairing
from gatepost.core.ports import Reader, Transaction
from gatepost.operations.access import Caller
from gatepost.operations.operation import Page
from gatepost.operations.pagination import read_page


@api.ListChannels.handler
def list_channels(tx: Reader, request: api.ListChannels, caller: Caller) -> Page[api.ChannelStatusView]:
    return read_page(tx, request, conversations.list_statuses, after=request.after)


@api.ListChannelSessions.handler
def list_channel_sessions(tx: Reader, request: api.ListChannelSessions, caller: Caller) -> Page[api.ChannelSessionView]:
    return read_page(
        tx,
        request,
        conversations.list_sessions,
        channel=request.channel,
        person=caller.entity or request.person,
        after=request.after,
    )


@api.ListPairings.handler
def list_pairings(tx: Reader, request: api.ListPairings, caller: Caller) -> Page[api.PairingView]:
    return read_page(tx, request, pairing.list_page, state=request.state, after=request.after)


@api.ApprovePairing.handler
def approve_pairing(tx: Transaction, request: api.ApprovePairing, caller: Caller) -> api.PairingView:
    return api.PairingView.of(pairing.approve(tx, request.code, by=caller.entity, person=request.person))


@api.RefusePairing.handler
def refuse_pairing(tx: Transaction, request: api.RefusePairing, caller: Caller) -> api.PairingView:
    return api.PairingView.of(pairing.deny(tx, request.code, by=caller.entity))


@api.EndPairing.handler
def end_pairing(tx: Transaction, request: api.EndPairing, caller: Caller) -> api.PairingView:
    return api.PairingView.of(pairing.revoke(tx, request.id, by=caller.entity))
