// Settings: what goes to a collector. What a row means: config/setting_types.hpp.

TOPIC("Limits, tasks and figures");
SETTING("OTEL_EXPORTER_OTLP_ENDPOINT", std::string, otlp_endpoint, "", url(),
        "collector that spans are posted to (OTLP/HTTP with JSON); empty: none");
SETTING("OTEL_EXPORTER_OTLP_HEADERS", std::string, otlp_headers, "", secret(plain_text()),
        "headers of the requests to the collector as name=value,…");
SETTING("OTEL_SERVICE_NAME", std::string, otel_service, "container-mcp", plain_text(200), "service.name of the spans");
SETTING("OTEL_RESOURCE_ATTRIBUTES", std::string, otel_resource, "", plain_text(4000),
        "further attributes of spans and log records, as deployment.environment.name=prod,…; values percent-encoded");
SETTING("OTEL_LOGS_EXPORTER", std::string, otel_logs, "otlp", choice({"otlp", "none"}),
        "whether the log goes to the collector of OTEL_EXPORTER_OTLP_ENDPOINT, too");
