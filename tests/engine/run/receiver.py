"""A small real OTLP/HTTP receiver: keeps every span and step batch it has answered 200 for."""

import gzip
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

_PLAIN = {
    "string_value": lambda v: v.string_value,
    "int_value": lambda v: v.int_value,
    "double_value": lambda v: v.double_value,
    "bool_value": lambda v: v.bool_value,
    "bytes_value": lambda v: v.bytes_value,
    "array_value": lambda v: [plain(item) for item in v.array_value.values],
}


def plain(value):
    return _PLAIN[value.WhichOneof("value")](value)


def attributes(record):
    return {a.key: plain(a.value) for a in record.attributes}


class Receiver:
    """Listens from the start; `answers` are statuses to give before taking anything."""

    def __init__(self, answers=(), port=0):
        self.spans = []
        self.steps = []
        self.requests = []
        self.resources = []
        self._answers = list(answers)
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                receiver._take(self)

            def log_message(self, *args):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def port(self):
        return self._server.server_address[1]

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def by_span_id(self):
        return Counter(span.span_id.hex() for span in self.spans)

    def close(self):
        self._server.shutdown()
        self._server.server_close()

    def _take(self, handler):
        body = handler.rfile.read(int(handler.headers["Content-Length"]))
        status = self._answers.pop(0) if self._answers else 200
        self.requests.append((handler.path, status, dict(handler.headers)))
        if status == 200:
            self._keep(handler.path, gzip.decompress(body))
        handler.send_response(status)
        if status in (429, 503):
            handler.send_header("Retry-After", "1")
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    def _keep(self, path, body):
        if path == "/v1/traces":
            for holder in ExportTraceServiceRequest.FromString(body).resource_spans:
                self.resources.append(attributes(holder.resource))
                for scope in holder.scope_spans:
                    self.spans.extend(scope.spans)
        elif path == "/v1/logs":
            for holder in ExportLogsServiceRequest.FromString(body).resource_logs:
                for scope in holder.scope_logs:
                    self.steps.extend(scope.log_records)
