"""
The protobufs of Hedera, as the SDK carries them.

They and grpc have no types, so they are imported here alone; what other modules take from here is `Any` to mypy.
"""

import grpc  # type: ignore[import-untyped]
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from hiero_sdk_python.hapi.services import (  # type: ignore[import-untyped]
    basic_types_pb2,
    consensus_service_pb2_grpc,
    consensus_submit_message_pb2,
    crypto_service_pb2_grpc,
    duration_pb2,
    response_code_pb2,
    response_header_pb2,
    response_pb2,
    timestamp_pb2,
    transaction_contents_pb2,
    transaction_get_receipt_pb2,
    transaction_pb2,
    transaction_receipt_pb2,
    transaction_response_pb2,
)

__all__ = [
    "DecodeError",
    "basic_types_pb2",
    "consensus_service_pb2_grpc",
    "consensus_submit_message_pb2",
    "crypto_service_pb2_grpc",
    "duration_pb2",
    "grpc",
    "response_code_pb2",
    "response_header_pb2",
    "response_pb2",
    "timestamp_pb2",
    "transaction_contents_pb2",
    "transaction_get_receipt_pb2",
    "transaction_pb2",
    "transaction_receipt_pb2",
    "transaction_response_pb2",
]
