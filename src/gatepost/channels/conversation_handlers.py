"""Channels: their conversations, and the users who are let in."""

from gatepost.channels import intake_actions as channels, pairing_actions as pairing
from gatepost.channels.conversation_api import (
    ApprovePairing,
    ChannelSessionPage,
    ChannelSessionView,
    ChannelStatusPage,
    ChannelStatusView,
    EndPairing,
    ListChannels,
    ListChannelSessions,
    ListPairings,
    PairingPage,
    PairingView,
    RefusePairing,
)
from gatepost.core.ports import Reader, Transaction
from gatepost.operations.access import Caller
from gatepost.operations.pagination import read_page


@ListChannels.handler
def list_channels(tx: Reader, request: ListChannels, caller: Caller) -> ChannelStatusPage:
    return read_page(
        tx,
        ChannelStatusPage,
        channels.list_statuses,
        view=ChannelStatusView.of,
        after=request.after,
        limit=request.limit,
    )


@ListChannelSessions.handler
def list_channel_sessions(tx: Reader, request: ListChannelSessions, caller: Caller) -> ChannelSessionPage:
    return read_page(
        tx,
        ChannelSessionPage,
        channels.list_sessions,
        view=ChannelSessionView.of,
        channel=request.channel,
        person=caller.entity or request.person,
        after=request.after,
        limit=request.limit,
    )


@ListPairings.handler
def list_pairings(tx: Reader, request: ListPairings, caller: Caller) -> PairingPage:
    return read_page(
        tx,
        PairingPage,
        pairing.page,
        view=PairingView.of,
        state=request.state,
        after=request.after,
        limit=request.limit,
    )


@ApprovePairing.handler
def approve_pairing(tx: Transaction, request: ApprovePairing, caller: Caller) -> PairingView:
    return PairingView.of(pairing.approve(tx, request.code, by=caller.entity, person=request.person))


@RefusePairing.handler
def refuse_pairing(tx: Transaction, request: RefusePairing, caller: Caller) -> PairingView:
    return PairingView.of(pairing.deny(tx, request.code, by=caller.entity))


@EndPairing.handler
def end_pairing(tx: Transaction, request: EndPairing, caller: Caller) -> PairingView:
    return PairingView.of(pairing.revoke(tx, request.id, by=caller.entity))
