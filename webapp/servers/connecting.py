"""How each kind of server is made to send its telemetry, as commands to copy."""

from dataclasses import dataclass

from webapp.servers.models import Server


@dataclass(frozen=True)
class Recipe:
    """A sentence and the lines to copy."""

    text: str
    lines: str


def recipe_for(server: Server, web_url: str) -> Recipe:
    """What to run beside, or in front of, a server of this kind."""
    endpoint = web_url.rstrip("/")
    key = "KEY"
    header = f"Authorization=Bearer%20{key}"
    kind = Server.Kind(server.kind)
    if kind is Server.Kind.ENGINE:
        return Recipe(
            "Start an engine with these options; every token of every call is then timed.",
            f"python -m engine --model {server.model or 'MODEL'} --server-name {server.name} \\\n"
            f"    --otlp-endpoint {endpoint} --otlp-key {key}",
        )
    if kind is Server.Kind.VLLM:
        return Recipe(
            "vLLM sends one span a call with its phases. The key tells which server it is.",
            "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf \\\n"
            f"OTEL_EXPORTER_OTLP_TRACES_HEADERS={header} \\\n"
            f"vllm serve {server.model or 'MODEL'} --otlp-traces-endpoint {endpoint}/v1/traces",
        )
    if kind is Server.Kind.SGLANG:
        return Recipe(
            "SGLang sends one span a call with its phases.",
            "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf \\\n"
            f"OTEL_EXPORTER_OTLP_TRACES_HEADERS={header} \\\n"
            f"python -m sglang.launch_server --model-path {server.model or 'MODEL'} \\\n"
            f"    --enable-trace --otlp-traces-endpoint {endpoint}/v1/traces",
        )
    if kind is Server.Kind.PROVIDER:
        return Recipe(
            "Any program instrumented with OpenTelemetry sends what it asks of the provider.",
            f"OTEL_EXPORTER_OTLP_ENDPOINT={endpoint} \\\n"
            f"OTEL_EXPORTER_OTLP_HEADERS={header} \\\n"
            "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf your-program",
        )
    return Recipe(
        "This server tells nothing of single calls: send them through the gateway, which times "
        "every token on its way.",
        f"curl http://127.0.0.1:8200/{server.name}/v1/chat/completions \\\n"
        "    -H 'X-Inferometer-Key: GATEWAY_KEY' -H 'Content-Type: application/json' \\\n"
        """    -d '{"model": "MODEL", "messages": [{"role": "user", "content": "Hello"}]}'""",
    )
