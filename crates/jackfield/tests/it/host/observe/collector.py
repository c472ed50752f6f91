"""A collector of traces: takes OTLP over HTTP, decodes it with the official types, and prints each span as JSON."""

import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)


def value(any_value):
    kind = any_value.WhichOneof("value")
    held = getattr(any_value, kind)
    return [value(one) for one in held.values] if kind == "array_value" else held


def attributes(pairs):
    known = {}
    for pair in pairs:
        if pair.key in known:
            # No span: whoever reads this tells it.
            print(f"the attribute {pair.key} is there twice", flush=True)
        known[pair.key] = value(pair.value)
    return known


class Collector(BaseHTTPRequestHandler):
    def do_POST(self):
        assert self.path == "/v1/traces", self.path
        assert self.headers["content-type"] == "application/x-protobuf", self.headers["content-type"]
        request = ExportTraceServiceRequest()
        request.ParseFromString(self.rfile.read(int(self.headers["content-length"])))
        for resource in request.resource_spans:
            for scope in resource.scope_spans:
                for span in scope.spans:
                    told = {
                        "service": attributes(resource.resource.attributes).get("service.name"),
                        "scope": scope.scope.name,
                        "trace": span.trace_id.hex(),
                        "state": span.trace_state,
                        "id": span.span_id.hex(),
                        "parent": span.parent_span_id.hex(),
                        "name": span.name,
                        "start": span.start_time_unix_nano,
                        "end": span.end_time_unix_nano,
                        "attributes": attributes(span.attributes),
                        "events": [[event.name, attributes(event.attributes)] for event in span.events],
                        "failed": span.status.message if span.status.code == 2 else None,
                        "header": self.headers.get("x-test"),
                    }
                    print(json.dumps(told), flush=True)
        self.send_response(200)
        self.send_header("content-type", "application/x-protobuf")
        self.end_headers()
        self.wfile.write(ExportTraceServiceResponse().SerializeToString())

    def log_message(self, *_):
        pass


server = HTTPServer(("127.0.0.1", 0), Collector)
print(server.server_port, flush=True)
sys.stdout.flush()
server.serve_forever()
