// All settings, each described once. The file has no include guard, because settings.hpp makes members of its rows and
// setting.cpp makes the table of them.
//
//   TOPIC(heading in docs/configuration.md)
//   SETTING(variable, type, member, default, kind, description[, further key in config.toml])
// A kind in live(…) has a value that a reload of the running server changes.
//
// The default is text as a user would write it, in the unit of the variable; "" leaves the member empty. The kind
// (setting_kinds.hpp) knows the bounds, and how text becomes the value and back.

TOPIC("Server and log");
SETTING("MCP_HOST", std::string, host, "127.0.0.1", host_name,
        "address to listen on, or a UNIX socket that only this user may use: unix:/path", "server.host");
SETTING("MCP_PORT", std::uint16_t, port, "8000", number(0, 65'535), "port to listen on; 0 takes any free one",
        "server.port");
SETTING("MCP_ALLOWED_HOSTS", words, allowed_hosts, "", host_list,
        "Host header values that are accepted beside the loopback names and MCP_HOST");
SETTING("MCP_ALLOWED_ORIGINS", words, allowed_origins, "http://localhost:6274,http://127.0.0.1:6274", origin_list,
        "origins whose web pages may call, beside the server's own; the default is the MCP Inspector; * for any");
SETTING("MCP_AUTH", std::string, auth, "auto", choice({"auto", "token", "none"}),
        "where MCP_AUTH_TOKENS is empty: auto makes a token unless the address is loopback, token always, none never");
SETTING("MCP_AUTH_TOKENS", tokens, auth_tokens, "", live(secret(parser<settings::tokens>(bearer_tokens))),
        "bearer tokens as name=token,…; empty: MCP_AUTH decides");
SETTING("MCP_AUTH_PROFILES", tokens, auth_profiles, "", token_profiles,
        "profile of tools that the callers with a token are shown in place of TOOLS, as name=profile,…");
SETTING("AUTH_QUOTAS", words, auth_quotas, "", quota_list,
        "limits of single principals in place of everybody's, as principal:name=number,… (names: `container-mcp quota "
        "names`); `container-mcp quota set` goes before it");
SETTING("AUTH_ISSUERS", words, auth_issuers, "", issuer_list,
        "OAuth authorization servers whose tokens are taken: https addresses, on this machine also http");
SETTING(
    "AUTH_AUDIENCES", words, auth_audiences, "", word_list,
    "values of aud that tokens may have beside MCP_PUBLIC_URL and its endpoints; client_id:NAME takes tokens without "
    "aud of this client, as Amazon Cognito makes them");
SETTING("AUTH_TOKEN_TYPES", words, auth_token_types, "at+jwt", word_list,
        "values of typ that tokens may have; add JWT for issuers that do not follow RFC 9068");
SETTING("AUTH_PRINCIPAL_CLAIM", std::string, auth_principal_claim, "sub", plain_text(64),
        "the claim that tells callers of an issuer apart");
SETTING("AUTH_DEFAULT_SCOPES", std::string, auth_default_scopes, "", scope_list,
        "scopes of tokens that carry none of this server, between blanks");
SETTING("AUTH_CLOCK_SKEW", milliseconds, auth_clock_skew, "60", seconds(0ms, 600s),
        "by how many seconds an issuer's clock may differ");
SETTING(
    "AUTH_DPOP", std::string, auth_dpop, "accept", choice({"off", "accept", "require"}),
    "tokens that are bound to a key of the client (RFC 9449): off refuses them, require refuses the others of issuers");
SETTING("AUTH_INTROSPECTION_URL", std::string, auth_introspection_url, "", url(),
        "where tokens that are no JWT are asked for (RFC 7662); empty: they are refused");
SETTING("AUTH_INTROSPECTION_CLIENT", std::string, auth_introspection_client, "", plain_text(200),
        "this server's name there");
SETTING("AUTH_INTROSPECTION_SECRET", std::string, auth_introspection_secret, "", secret(plain_text(400)),
        "this server's secret there");
SETTING("AUTH_INTROSPECTION_TTL", milliseconds, auth_introspection_ttl, "60", seconds(0ms, 3600s),
        "how long its answer counts, seconds: a revoked token is good for so long");
SETTING("AUTH_UI_CLIENT", std::string, auth_ui_client, "", plain_text(400),
        "this server's client id at the issuers, so that people can log in to /ui there; empty: by key alone");
SETTING("AUTH_UI_SECRET", std::string, auth_ui_secret, "", secret(plain_text(400)),
        "its secret there; empty: it is a public client");
SETTING("AUTH_UI_SCOPES", std::string, auth_ui_scopes,
        "mcp:read mcp:files mcp:run mcp:sandboxes mcp:packages mcp:web mcp:admin", plain_text(400),
        "the scopes that are asked for then");
SETTING("AUTH_ADMINS", words, auth_admins, "", word_list,
        "principals that administer the server whatever the scopes of their tokens are");
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
SETTING("DEBUG", bool, debug, "false", flag, "log everything, whatever LOG_LEVEL says");
SETTING("LOG_LEVEL", std::string, log_level, "INFO", live(log_level), "DEBUG, INFO, WARNING or ERROR", "logging.level");
SETTING("LOG_FORMAT", std::string, log_format, "text", log_format, "text or json (JSON lines)",
        "logging.use_structured_format");
SETTING("LOG_FILE", path, log_file, "", file_path, "file for the log, rotated at 10 MiB; empty: stderr",
        "logging.log_file");
SETTING("SANDBOX_ROOT", path, sandbox_root, "", folder, "folder that holds the workspaces");

TOPIC("Several servers as one");
SETTING("CLUSTER_MEMBERS", words, cluster_members, "", member_list,
        "all servers that work as one, this one included, as name=host:port,… with the names of their SANDBOX_NODE and "
        "the ports where members reach each other; empty: this server is alone");
SETTING("CLUSTER_LISTEN", std::string, cluster_listen, "", member_address,
        "host:port to listen on for the other members; empty: as CLUSTER_MEMBERS says of this server");
SETTING("CLUSTER_CERT", path, cluster_cert, "", file_path,
        "PEM file with the certificate that this server shows to members; its DNS name is SANDBOX_NODE");
SETTING("CLUSTER_KEY", path, cluster_key, "", file_path, "PEM file with its private key, without a password");
SETTING("CLUSTER_CA", path, cluster_ca, "", file_path,
        "PEM file with the authority that signs the certificates of members, and no others");
SETTING("CLUSTER_DIRECTORY", std::string, cluster_directory, "", secret(parser<std::string>(directory_url)),
        "Valkey or Redis where members tell each other what callers have, as redis://name:password@host:port, or "
        "rediss:// for TLS; empty: they do not");

TOPIC("Limits, tasks and figures");
SETTING("HTTP_MAX_HEADER_BYTES", std::size_t, max_header_bytes, "16384", number(1024, 1024 * 1024),
        "largest request header, bytes");
SETTING("HTTP_MAX_BODY_MB", std::size_t, max_body_bytes, "16", number(1, 4096, mib), "largest request body, MiB");
SETTING("HTTP_HEADER_TIMEOUT", milliseconds, header_timeout, "10", seconds(100ms, day),
        "time for a request's header, and for a handshake of TLS, seconds");
SETTING("HTTP_BODY_TIMEOUT", milliseconds, body_timeout, "30", seconds(100ms, day),
        "time for a request's body, seconds");
SETTING("HTTP_IDLE_TIMEOUT", milliseconds, idle_timeout, "120", seconds(100ms, day),
        "a connection without a request is closed after so many seconds");
SETTING("HTTP_WRITE_TIMEOUT", milliseconds, write_timeout, "30", seconds(100ms, day),
        "a client that stops reading is cut after so many seconds");
SETTING("SSE_KEEP_ALIVE", milliseconds, keep_alive, "15", seconds(100ms, day),
        "comment on a silent stream every so many seconds");
SETTING("MCP_MAX_CONNECTIONS", std::size_t, max_connections, "65536", number(1, many), "connections at once");
SETTING("MCP_MAX_SESSIONS", std::size_t, max_sessions, "100000", number(1, many), "sessions at once");
SETTING("MCP_MAX_SESSIONS_PER_ADDRESS", std::size_t, max_sessions_per_address, "50000", number(1, many),
        "sessions of one client address, where callers have no names");
SETTING("MCP_MAX_SESSIONS_PER_CALLER", std::size_t, max_sessions_per_caller, "20000", number(1, many),
        "sessions of one caller with a name; its longest idle one makes room");
SETTING("MCP_MAX_REQUESTS", std::size_t, max_requests_in_flight, "4096", number(1, many),
        "requests in flight in the whole server");
SETTING("MCP_MAX_REQUESTS_PER_SESSION", std::size_t, max_requests_per_session, "64", number(1, many),
        "requests in flight in one session");
SETTING("MCP_MAX_TASKS", std::size_t, max_tasks, "4096", number(1, many), "tasks that are kept, running or ended");
SETTING("MCP_CALLS_PER_MINUTE", std::uint64_t, calls_per_minute, "0", number(0, many),
        "calls of tools that one caller may make in a minute, with cells of notebooks, uploads, changes by /api and "
        "shells that it opens; 0: any number");
SETTING("MCP_MAX_TASKS_PER_CALLER", std::size_t, max_tasks_per_caller, "1024", number(1, many),
        "tasks of one caller that are kept");
SETTING("MCP_TASK_TTL", milliseconds, task_ttl, "3600", seconds(1s, 365 * day),
        "a task's result is kept so many seconds");
SETTING("MCP_TASK_AFTER", milliseconds, task_after, "10", seconds(0ms, day),
        "a run that takes longer becomes a task for clients that take tasks, seconds; 0: never by itself");
SETTING("MCP_SESSION_TIMEOUT", milliseconds, session_timeout, "86400", seconds(1s, 365 * day),
        "an idle session ends after so many seconds");
SETTING("MCP_EVENT_LOG_KB", std::size_t, event_log_bytes, "1024", number(1, 1024 * 1024, 1024),
        "messages kept for Last-Event-ID, KiB a session");
SETTING("MCP_DRAIN_TIMEOUT", milliseconds, drain_timeout, "10", seconds(0ms, day),
        "running calls get so many seconds when the server stops");
SETTING(
    "MCP_DRAIN_NOTICE", milliseconds, drain_notice, "0", seconds(0ms, day),
    "seconds for which a server that is told to stop still answers all, while /healthz and the agent check say that "
    "it ends, so that a balancer takes it out; a second signal stops it at once");
SETTING("MCP_AGENT_LISTEN", std::string, agent_listen, "", member_address,
        "host:port at which HAProxy's agent check is answered with a weight by load, or drain; empty: nowhere");
SETTING("MCP_MEMORY_LIMIT_MB", std::size_t, memory_limit_bytes, "512", number(16, 1024 * 1024, mib),
        "memory of messages that wait for clients or are kept for them, and of request bodies, MiB");
SETTING("MCP_SHED_DELAY", milliseconds, shed_delay, "0.5", seconds(10ms, day),
        "calls are refused while requests wait longer than so many seconds to be looked at");
SETTING("OTEL_EXPORTER_OTLP_ENDPOINT", std::string, otlp_endpoint, "", url(),
        "collector that spans are posted to (OTLP/HTTP with JSON); empty: none");
SETTING("OTEL_EXPORTER_OTLP_HEADERS", std::string, otlp_headers, "", secret(plain_text()),
        "headers of the requests to the collector as name=value,…");
SETTING("OTEL_SERVICE_NAME", std::string, otel_service, "container-mcp", plain_text(200), "service.name of the spans");
SETTING("OTEL_RESOURCE_ATTRIBUTES", std::string, otel_resource, "", plain_text(4000),
        "further attributes of spans and log records, as deployment.environment.name=prod,…; values percent-encoded");
SETTING("OTEL_LOGS_EXPORTER", std::string, otel_logs, "otlp", choice({"otlp", "none"}),
        "whether the log goes to the collector of OTEL_EXPORTER_OTLP_ENDPOINT, too");
SETTING("MCP_METRICS", bool, metrics, "true", flag, "serve figures for Prometheus at /metrics");
SETTING("MCP_METRICS_READERS", words, metrics_readers, "", word_list,
        "principals that see the figures of all principals at /metrics, as administrators (mcp:admin) do");
SETTING("MCP_METRICS_PRINCIPALS", std::size_t, metrics_principals, "50", number(0, 10'000),
        "principals with a label of their own at /metrics; further ones count as `other`");
SETTING("MCP_RESULT_LIMIT", std::size_t, result_limit, "24", number(4, 1024, 1024),
        "most that a result of a tool says, KiB of JSON without images; max_output asks for less or more, up to 1024");
SETTING("MCP_RESULT_FORMAT", std::string, result_format, "auto", choice({"auto", "text", "json"}),
        "auto: plain text and structuredContent, JSON text for revisions without it; text: plain text alone; json: "
        "JSON text and structuredContent");
SETTING("JSON_MAX_DEPTH", std::size_t, json_depth, "64", number(8, 1024), "nesting of a JSON message");
SETTING("JSON_MAX_BATCH", std::size_t, json_batch, "64", number(1, 10'000),
        "messages in one JSON-RPC batch (revision 2025-03-26)");

TOPIC("Audit");
SETTING("AUDIT", std::string, audit, "auto", choice({"auto", "on", "off"}),
        "record calls, logins, connections to the outside and acts of administration: auto where callers have names");
SETTING("AUDIT_FOLDER", path, audit_folder, "", file_path,
        "folder of the records; empty: audit in SANDBOX_ROOT. A folder outside of SANDBOX_ROOT is closed to all of the "
        "server but the thread that writes");
SETTING("AUDIT_REQUIRED", bool, audit_required, "false", flag,
        "calls are refused while they cannot be recorded, because the disk is full or gone");
SETTING("AUDIT_ARGUMENTS", std::string, audit_arguments, "digest", choice({"digest", "none"}),
        "of the arguments of calls: keep their SHA-256, or nothing");
SETTING("AUDIT_FILE_MB", std::uint64_t, audit_file_size, "64", number(1, 4096, mib),
        "size of a file of records, MiB; a day begins another one as well");
SETTING("AUDIT_KEEP", std::size_t, audit_keep, "64", number(0, many),
        "files of records that are kept; the oldest one goes when there are more; 0: all");
SETTING("AUDIT_HEADS", path, audit_heads, "", file_path,
        "file to which signed heads are appended beside the log, on another machine's disk at best; empty: none");
SETTING("AUDIT_HEAD_EVERY", milliseconds, audit_head_every, "60", seconds(1s, day),
        "a head is published every so many seconds while there are records");

TOPIC("Runs");
SETTING("SANDBOX_BACKEND", std::string, sandbox_backend, "native", choice({"native", "firejail"}),
        "how programs are confined: native or firejail");
SETTING("SANDBOX_REQUIRE", words, sandbox_require, "namespaces,seccomp,no_network,limits,browser_sandbox", word_list,
        "layers without which the server does not start; without browser_sandbox web_browse alone does not run");
SETTING("SERVER_CONFINE", bool, confine_server, "true", flag,
        "the server gives up starting programs and reaching other files once it runs");
SETTING("SANDBOX_LAUNCHER", path, launcher_path, "", file_path, "the launcher program; empty: beside container-mcp");
SETTING("SANDBOX_MAX_RUNS", std::size_t, max_runs, "0", number(0, 100'000), "runs at once; 0: four times the cores");
SETTING("SANDBOX_MAX_RUNS_PER_CALLER", std::size_t, max_runs_per_caller, "0", number(0, 100'000),
        "runs of one caller at once; 0: all but one");
SETTING(
    "SANDBOX_MAX_JOBS", std::size_t, max_jobs, "0", number(0, 100'000),
    "runs in the background at once, beside the others; 0: as many as SANDBOX_MAX_RUNS; one caller has all but one");
SETTING("SANDBOX_WAITING", std::size_t, sandbox_waiting, "2", number(0, 64),
        "ready cells, each with a program confined already, for the next command of the last caller");
SETTING("SANDBOX_PROCESS_LIMIT", std::uint64_t, process_limit, "256", number(1, 100'000),
        "processes and threads of a run, or of all that goes on in a sandbox");
SETTING("SANDBOX_OPEN_FILES", std::uint64_t, open_files_limit, "1024", number(64, 1'048'576),
        "files that a process may have open at once, sockets and pipes included");
SETTING("SANDBOX_MEMORY_LIMIT", std::uint64_t, memory_limit, "512", number(16, terabyte, mib),
        "memory of a command, MiB");
SETTING("SANDBOX_FILE_SIZE_LIMIT", std::uint64_t, file_size_limit, "256", number(1, terabyte, mib),
        "largest file that a run may write, MiB");
SETTING("SANDBOX_TMP_SIZE", std::uint64_t, tmp_size, "64", number(1, terabyte, mib),
        "size of a run's /tmp and /dev/shm, MiB each");
SETTING("SANDBOX_WORKSPACE_MAX_MB", std::uint64_t, workspace_max_size, "1024", number(0, terabyte, mib),
        "size of a workspace above which runs that fill it are ended, MiB; 0: any");
SETTING("SANDBOX_WORKSPACE_MAX_FILES", std::uint64_t, workspace_max_files, "200000", number(0, 1'000'000'000),
        "files and folders in a workspace; 0: any");
SETTING("SANDBOX_OUTPUT_LIMIT", std::uint64_t, output_hard_limit, "64", number(1, terabyte, mib),
        "output that ends a run, MiB a stream");
SETTING("WORKSPACE_PER_SESSION", bool, workspace_per_session, "false", flag,
        "a workspace for each session instead of one for each caller");
SETTING("BASH_ALLOWED_COMMANDS", words, bash_allowed_commands,
        "ls,cat,grep,find,echo,pwd,mkdir,touch,head,tail,wc,sort,uniq,cut,paste,join,comm,tr,sed,awk,diff,cmp,patch,"
        "fold,fmt,nl,expand,unexpand,column,tac,rev,split,csplit,shuf,numfmt,jq,printf,seq,tee,xargs,od,hexdump,xxd,"
        "base64,md5sum,sha1sum,sha256sum,sha512sum,cksum,rm,rmdir,cp,mv,ln,chmod,stat,file,du,basename,dirname,"
        "realpath,readlink,mktemp,tar,gzip,bzip2,xz,zip,unzip,date,env,printenv,expr,test,true,false,sleep,timeout",
        command_names, "programs that exist inside the sandbox; * for all");
SETTING("BASH_TIMEOUT_DEFAULT", milliseconds, bash_timeout_default, "30", seconds(100ms, day),
        "time of a command that asks for none, seconds");
SETTING("BASH_TIMEOUT_MAX", milliseconds, bash_timeout_max, "120", seconds(100ms, day),
        "most time that a command can ask for, seconds");
SETTING("PYTHON_INTERPRETER", std::string, python_interpreter, "/usr/bin/python3", absolute_path,
        "the interpreter, as seen inside the sandbox");
SETTING("PYTHON_ZYGOTE", std::string, python_zygote, "auto", choice({"off", "stdlib", "data", "auto"}),
        "interpreter kept loaded for fast runs: off, stdlib, data (with numpy, pandas, matplotlib), or auto: data for "
        "code that names them");
SETTING("PYTHON_ZYGOTE_WAITING", std::size_t, python_zygote_waiting, "2", number(0, 64),
        "clones of the loaded interpreter that wait, confined, for the next run");
SETTING("PYTHON_ZYGOTE_RUNS", std::size_t, python_zygote_runs, "1000", number(1, 1'000'000),
        "clones that one loaded interpreter makes at most; 1: each run has a hash seed and addresses of its own");
SETTING("PYTHON_MEMORY_LIMIT", std::uint64_t, python_memory_limit, "256", number(16, terabyte, mib),
        "memory of a Python run, MiB");
SETTING("PYTHON_TIMEOUT_DEFAULT", milliseconds, python_timeout_default, "30", seconds(100ms, day),
        "time of a Python run that asks for none, seconds");
SETTING("PYTHON_TIMEOUT_MAX", milliseconds, python_timeout_max, "120", seconds(100ms, day),
        "most time that a Python run can ask for, seconds");

TOPIC("Files and groups of tools");
SETTING("FILE_MAX_SIZE_MB", std::uint64_t, file_max_size, "10", number(1, 4096, mib),
        "largest file that the file tools read or write, MiB");
SETTING("FILE_ALLOWED_EXTENSIONS", words, file_allowed_extensions, "txt,md,csv,json,py", extensions,
        "extensions that the file tools accept; * for all");
SETTING("TOOLS", words, tools, "all", word_list,
        "tools that are listed: names, patterns with * and profiles (agent, interpreter, seed-a, seed-b, seed-c, all); "
        "the others stay callable by name");
SETTING("TOOLS_ENABLE_SYSTEM", bool, enable_system, "true", flag, "offer the system_* tools");
SETTING("TOOLS_ENABLE_FILE", bool, enable_file, "true", flag, "offer the file_* tools");
SETTING("TOOLS_ENABLE_WEB", bool, enable_web, "true", flag, "offer the web_* tools");
SETTING("TOOLS_ENABLE_SANDBOX", bool, enable_sandbox, "true", flag, "offer the tools of sandboxes that last, and jobs");

TOPIC("Web");
SETTING("WEB_TIMEOUT_DEFAULT", milliseconds, web_timeout_default, "30", seconds(100ms, day),
        "time of a call of a web tool, seconds");
SETTING("WEB_ALLOWED_DOMAINS", words, web_allowed_domains, "*", live(host_list),
        "hosts that the web tools may reach: example.com, *.example.com, host:port, !host; * for all");
SETTING("WEB_ALLOWED_PRIVATE", words, web_allowed_private, "", live(host_list),
        "hosts and addresses that may be reached though they are not public");
SETTING("WEB_MAX_SIZE_MB", std::uint64_t, web_max_size, "10", number(1, 1024, mib), "largest page, unpacked, MiB");
SETTING("WEB_MAX_REDIRECTS", std::size_t, web_max_redirects, "10", number(0, 100), "redirects that are followed");
SETTING("WEB_MAX_CONNECTIONS", std::size_t, web_max_connections, "64", number(1, 10'000),
        "connections of web_scrape and web_search at once");
SETTING("WEB_CA_FILE", path, web_ca_file, "", file_path, "certificates that are trusted beside the system's (PEM)");
SETTING("WEB_SEARCH_PROVIDER", std::string, web_search_provider, "none",
        choice({"none", "searxng", "brave", "duckduckgo"}),
        "provider of web_search: searxng, brave, duckduckgo or none");
SETTING("WEB_SEARCH_URL", std::string, web_search_url, "", url(), "address of the provider; needed for searxng");
SETTING("WEB_SEARCH_KEY", std::string, web_search_key, "", secret(plain_text()),
        "key of the provider; needed for brave");
SETTING("WEB_BROWSER_PATH", std::string, web_browser_path, "", plain_text(),
        "the browser that web_browse drives; empty: Chromium in its usual places");
SETTING("WEB_BROWSER_START", bool, web_browser_start, "false", flag,
        "start the browser with the server instead of with the first page");
SETTING("WEB_BROWSER_MAX_PAGES", std::size_t, web_browser_max_pages, "4", number(1, 10), "pages at once");
SETTING("WEB_BROWSER_MAX_BROWSERS", std::size_t, web_browser_max_browsers, "2", number(1, 10),
        "browsers at once, each for one caller alone");
SETTING("WEB_BROWSER_MEMORY_LIMIT", std::uint64_t, web_browser_memory_limit, "1024", number(256, terabyte, mib),
        "memory of a browser with all its pages, MiB");
SETTING("WEB_BROWSER_MAX_CONTENT_KB", std::uint64_t, web_browser_max_content, "1024", number(1, 16 * 1024, 1024),
        "most of a page's content in an answer, KiB");
SETTING("WEB_BROWSER_IDLE_TIMEOUT", milliseconds, web_browser_idle_timeout, "300", seconds(0ms, day),
        "an idle browser ends after so many seconds; 0: after each page");
SETTING("WEB_BROWSER_TIMEOUT_MAX", milliseconds, web_browser_timeout_max, "120", seconds(100ms, day),
        "most time that a call of web_browse can ask for, seconds");

TOPIC("Sandboxes and packages");
SETTING("SANDBOX_DEFAULT_IMAGE", std::string, sandbox_default_image, "", plain_text(),
        "image of a sandbox made without one; empty: native", "docker.default_image");
SETTING(
    "SANDBOX_IMAGES", words, sandbox_images,
    "native,alpine:latest=native,python-sandbox:latest=native,python:3.12-alpine=native,node:20-slim=native",
    image_list,
    "images that may be asked for; * for any; with =native this machine's programs stand in until the image is added");
SETTING("SANDBOX_IMAGE_MAX_MB", std::uint64_t, sandbox_image_max_size, "10240", number(1, terabyte, mib),
        "most that is fetched and unpacked of an image, MiB");
SETTING("SANDBOX_IMAGE_PULL", words, sandbox_image_pull, "", word_list,
        "images that are fetched from their registry when a sandbox asks for them, * for any text; empty: none");
SETTING("SANDBOX_IMAGE_STORE_MB", std::uint64_t, sandbox_image_store_size, "20480", number(1, terabyte, mib),
        "where the images of the store take so much, no further one is fetched for a sandbox, MiB");
SETTING("SANDBOX_OPEN_MOUNT_DIRECTORY", bool, sandbox_open_mount, "false", flag,
        "tell the folder of a sandbox on this machine in results", "docker.open_mount_directory");
SETTING("SANDBOX_WORK_DIR", std::string, sandbox_work_dir, "/app/results", absolute_path,
        "working folder inside a sandbox", "docker.container_work_dir");
SETTING("SANDBOX_NODE", std::string, sandbox_node, "", plain_text(32),
        "this machine's name in handles; empty: its host name at the first start, kept in SANDBOX_ROOT/node");
SETTING("SANDBOX_NETWORK", words, sandbox_network, "none", live(host_list),
        "hosts that the programs of a sandbox reach when it is made without a network of its own: example.com, "
        "*.example.com, host:port, !host; none: no network");
SETTING("SANDBOX_NETWORK_ALLOWED", words, sandbox_network_allowed, "", live(host_list),
        "hosts that a sandbox may be given at most, in the same form; empty: those of SANDBOX_NETWORK");
SETTING("SANDBOX_NETWORK_PRIVATE", words, sandbox_network_private, "", live(host_list),
        "hosts and addresses that sandboxes may reach though they are not public, if they are among the allowed ones");
SETTING("SANDBOX_NETWORK_MAX_MB", std::uint64_t, sandbox_network_bytes, "4096", number(1, terabyte, mib),
        "most that the programs of a sandbox receive and send until it stops, MiB");
SETTING("SANDBOX_NETWORK_MB_PER_HOUR", std::uint64_t, sandbox_network_bytes_per_hour, "0", number(0, terabyte, mib),
        "most that the sandboxes of one caller receive and send in an hour, MiB; 0: any number");
SETTING("SANDBOX_NETWORK_CONNECTIONS", std::size_t, sandbox_network_connections, "64", number(1, 1024),
        "connections of a sandbox's programs to the network at once");
SETTING("SANDBOX_NETWORK_ASK", milliseconds, sandbox_network_ask, "60", live(seconds(0ms, 3600s)),
        "seconds that a connection waits for the client's answer, where a sandbox's network asks; 0: nothing is asked");
SETTING("SANDBOX_TOOLS", words, sandbox_tools, "read-only", live(word_list),
        "tools that the programs of a sandbox may call: names, patterns with *, !name, read-only (those that change "
        "nothing and reach nothing outside of the server), all; none: no tools. A web tool that is named here still "
        "reaches only what the sandbox's own network reaches: SANDBOX_TOOLS_REACH_OUT opens more");
SETTING(
    "SANDBOX_TOOLS_REACH_OUT", words, sandbox_tools_reach_out, "none", live(reach_out_list),
    "what tools that the programs of a sandbox call may reach beyond it: network (the web, package indexes and other "
    "MCP servers by the server's own rules, past the network of the sandbox), sandboxes (the caller's others), "
    "workspace (the caller's); none: the sandbox alone");
SETTING("SANDBOX_TOOLS_CALLS", std::size_t, sandbox_tools_calls, "1000", live(number(1, 1'000'000)),
        "calls of tools that the programs of one run may make");
SETTING("SECRETS_KEY_FILE", path, secrets_key_file, "", file_path,
        "file with the key that secrets are stored encrypted with, made when it is needed and not there; empty: "
        "container-mcp/secrets.key in $XDG_CONFIG_HOME or ~/.config");
SETTING("SANDBOX_IDLE_TIMEOUT", milliseconds, sandbox_idle_timeout, "1800", seconds(1s, 365 * day),
        "an unused sandbox is stopped after so many seconds");
SETTING("SANDBOX_TTL", milliseconds, sandbox_ttl, "2592000", seconds(1s, 3650 * day),
        "an unused sandbox is deleted after so many seconds");
SETTING("SANDBOX_MAX_LIVE", std::size_t, max_live_sandboxes, "64", number(1, 10'000),
        "sandboxes at once that have processes or a /tmp; one caller has at most half. The longest unused one without "
        "programs gives way to another");
SETTING("SANDBOX_MAX_PER_CALLER", std::size_t, sandbox_max_per_caller, "1000", number(1, many),
        "sandboxes of one caller");
SETTING("SANDBOX_DISK_QUOTA", std::uint64_t, sandbox_disk_quota, "10240", number(1, terabyte, mib),
        "disk of one caller's sandboxes together, MiB");
SETTING("SANDBOX_UPLOAD_FOLDER", path, sandbox_upload_folder, "volume/data", file_path,
        "folder that local_file_path is taken from; empty: none");
SETTING("SANDBOX_DATA_FOLDER", path, sandbox_data_folder, "volume/data", file_path,
        "folder whose files all runs read at /data; the default counts where it is there; empty: none");
SETTING("SANDBOX_LINK_TTL", milliseconds, link_ttl, "86400", seconds(60s, 365 * day),
        "time for which links to files open in a browser without a token, seconds");
SETTING(
    "SANDBOX_LINK_KEY", std::string, link_key, "", secret(plain_text(128)),
    "what such links are signed with, the same on all servers of a cluster; empty: made at the first start and kept in "
    "SANDBOX_ROOT/link-key");
SETTING("SANDBOX_JOB_TIMEOUT", milliseconds, job_timeout_max, "3600", seconds(1s, 365 * day),
        "time of a run in the background, default and maximum, seconds");
SETTING("SANDBOX_JOBS_PER_CALLER", std::size_t, jobs_per_caller, "32", number(1, 10'000),
        "runs of one caller in the background, those that wait included");
SETTING("SANDBOX_KERNEL_MEMORY", std::uint64_t, kernel_memory_limit, "512", number(32, terabyte, mib),
        "memory of a Python kernel, MiB; a live sandbox has this and SANDBOX_MEMORY_LIMIT for all that goes on in it");
SETTING("SANDBOX_KERNEL_CPU", milliseconds, kernel_cpu_limit, "14400", seconds(1s, 365 * day),
        "processor time of a Python kernel over its life, seconds");
SETTING("SANDBOX_MAX_KERNELS", std::size_t, max_kernels, "64", number(1, 100'000), "Python kernels that live at once");
SETTING("SANDBOX_KERNELS_PER_CALLER", std::size_t, kernels_per_caller, "32", number(1, 100'000),
        "Python kernels of one caller; for another one the longest unused of the caller is ended");
SETTING("SANDBOX_MAX_SHELLS", std::size_t, max_shells, "64", number(1, 1000),
        "shells in sandboxes that are open at once");
SETTING("SANDBOX_SHELLS_PER_CALLER", std::size_t, shells_per_caller, "16", number(1, 1000),
        "shells in sandboxes that one caller has open");
SETTING(
    "JUPYTER_API", bool, jupyter_api, "true", flag,
    "serve kernels and files of sandboxes at /api as a Jupyter server does, for JupyterLab, VS Code and Open WebUI");
SETTING("SANDBOX_INSTALL_TIMEOUT", milliseconds, install_timeout, "300", seconds(1s, day),
        "time of an installation of packages, seconds");
SETTING("PYPI_INDEX_URL", std::string, pypi_index_url, "", url(),
        "where packages are installed from; empty: pip's own index", "mirror.pypi_index_url");
SETTING("PYPI_HOSTS", words, pypi_hosts, "", host_list, "further hosts that PYPI_INDEX_URL takes packages from");
SETTING("PYPI_ALLOW_SOURCE", bool, pypi_allow_source, "false", flag,
        "install packages that must be built, too, not only wheels");
SETTING("NPM_REGISTRY_URL", std::string, npm_registry_url, "", url(),
        "where npm packages are installed from; empty: npm's own registry");
SETTING(
    "MCP_PREVIEW_DOMAIN", std::string, preview_domain, "", preview_domain,
    "domain whose subdomains lead to this server, where each shown port has an origin of its own; empty: paths of the "
    "server's own origin");
SETTING("MCP_PREVIEW_TTL", milliseconds, preview_ttl, "86400", seconds(1s, 365 * day),
        "most time that a link to a shown port can ask for, seconds");
SETTING("MCP_PUBLIC_URL", std::string, public_url, "", url(),
        "how clients reach this server, for download links and the endpoint of /sse; empty: the address it listens on");

TOPIC("Snapshots of sandboxes");
SETTING("SNAPSHOT_STORE", std::string, snapshot_store, "", store_url,
        "bucket of an S3-compatible object storage that keeps sandboxes and workspaces, as "
        "https://host:port/bucket/prefix, "
        "port and prefix where there are any; http:// speaks plainly; empty: none");
SETTING("SNAPSHOT_STORE_REGION", std::string, snapshot_store_region, "us-east-1", region_name,
        "region of the bucket, as requests to it are signed for");
SETTING("SNAPSHOT_STORE_KEY_ID", std::string, snapshot_store_key_id, "", plain_text(200),
        "id of this server's access key at the storage");
SETTING("SNAPSHOT_STORE_SECRET", std::string, snapshot_store_secret, "", secret(plain_text(400)),
        "secret of this access key");
SETTING("SNAPSHOT_STORE_CA", path, snapshot_store_ca, "", file_path,
        "certificates that are trusted at the storage beside the system's (PEM)");
SETTING("SANDBOX_SNAPSHOT_EVERY", milliseconds, sandbox_snapshot_every, "300", seconds(1s, 365 * day),
        "seconds after which a sandbox or workspace in use is kept again; an idle one is kept at once");
SETTING(
    "SNAPSHOT_KEY", std::string, snapshot_key, "", secret(parser<std::string>(encryption_key)),
    "64 hexadecimal digits that snapshots are encrypted with before they leave the server, the same on all servers of "
    "a cluster; who loses it loses them: `openssl rand -hex 32` makes one");
