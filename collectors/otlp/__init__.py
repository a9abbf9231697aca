"""OTLP bytes to records and back: the edge between the wire and everything else."""

from collectors.otlp.decode import JSON, PROTOBUF, decode_logs, decode_metrics, decode_traces
from collectors.otlp.encode import encode_response, encode_traces
from collectors.otlp.raw import BadBody

__all__ = [
    "JSON",
    "PROTOBUF",
    "BadBody",
    "decode_logs",
    "decode_metrics",
    "decode_traces",
    "encode_response",
    "encode_traces",
]
