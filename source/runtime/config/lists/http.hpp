// Settings: the listener, TLS, connections and sessions. What a row means: config/setting_types.hpp.

TOPIC("Server and log");
SETTING("MCP_HOST", std::string, host, "127.0.0.1", host_name,
        "address to listen on, or a UNIX socket that only this user may use: unix:/path", "server.host");
SETTING("MCP_PORT", std::uint16_t, port, "8000", number(0, 65'535), "port to listen on; 0 takes any free one",
        "server.port");
SETTING("MCP_ALLOWED_HOSTS", words, allowed_hosts, "", host_list,
        "Host header values that are accepted beside the loopback names and MCP_HOST");
SETTING("MCP_ALLOWED_ORIGINS", words, allowed_origins, "http://localhost:6274,http://127.0.0.1:6274", origin_list,
        "origins whose web pages may call, beside the server's own; the default is the MCP Inspector; * for any");
SETTING("TLS_CERT", path, tls_cert, "", file_path,
        "PEM file with the server's certificate and behind it those of its issuers: the server speaks HTTPS; empty: "
        "plain HTTP");
SETTING("TLS_KEY", path, tls_key, "", file_path, "PEM file with the certificate's private key, without a password");
SETTING("TLS_MIN", std::string, tls_min, "1.3", choice({"1.2", "1.3"}), "oldest version of TLS that clients may speak");
SETTING(
    "TLS_CLIENT_AUTH", std::string, tls_client_auth, "off", choice({"off", "accept", "require"}),
    "certificates of clients: off never asks for one, accept takes one in place of a token, require refuses clients "
    "without one");
SETTING("TLS_CLIENT_CA", path, tls_client_ca, "", file_path,
        "PEM file with the authorities that sign certificates of clients");
SETTING("MCP_TRUSTED_PROXIES", words, trusted_proxies, "", network_list,
        "addresses and networks of proxies (10.0.0.0/8), and unix for clients of the UNIX socket, whose PROXY protocol "
        "and Forwarded or X-Forwarded-* fields are believed; empty: none");

TOPIC("Limits, tasks and figures");
SETTING("HTTP_MAX_BODY_MB", std::size_t, max_body_bytes, "16", number(1, 4096, mib), "largest request body, MiB");
SETTING("HTTP_TIMEOUT", milliseconds, http_timeout, "30", seconds(100ms, day),
        "time for a request's body, and for a client that does not read its answer, seconds; a header, and a handshake "
        "of TLS, has at most 10 of them, and a connection without a request is closed after 120, or four times as many "
        "where that is more");
SETTING("MCP_MAX_SESSIONS", std::size_t, max_sessions, "100000", number(1, many),
        "sessions at once; one client address has at most half of them, where callers have no names");
SETTING("MCP_SESSION_TIMEOUT", milliseconds, session_timeout, "86400", seconds(1s, 365 * day),
        "seconds after which an idle session ends");
SETTING("MCP_DRAIN_TIMEOUT", milliseconds, drain_timeout, "10", seconds(0ms, day),
        "seconds that running calls have when the server stops");
SETTING("MCP_DRAIN_NOTICE", milliseconds, drain_notice, "0", seconds(0ms, day),
        "seconds for which a stopping server still answers everything while /healthz and the agent check tell "
        "balancers; a second signal stops it at once");
SETTING("MCP_AGENT_LISTEN", std::string, agent_listen, "", member_address,
        "host:port at which HAProxy's agent check is answered with a weight by load, or drain; empty: nowhere");
SETTING("MCP_MEMORY_LIMIT_MB", std::size_t, memory_limit_bytes, "512", number(16, 1024 * 1024, mib),
        "memory of messages that wait for clients or are kept for them, and of request bodies, MiB");
SETTING("MCP_METRICS_READERS", words, metrics_readers, "", word_list,
        "principals that see everybody's figures at /metrics, as administrators (mcp:admin) do");

TOPIC("Sandboxes and packages");
SETTING(
    "JUPYTER_API", bool, jupyter_api, "true", flag,
    "serve kernels and files of sandboxes at /api as a Jupyter server does, for JupyterLab, VS Code and Open WebUI");
SETTING("MCP_PUBLIC_URL", std::string, public_url, "", url(),
        "how clients reach this server, for download links and the endpoint of /sse; empty: the address it listens on");
