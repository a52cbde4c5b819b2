#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace cmcp {

/// Everything configured: read once (config/load_settings.hpp), immutable afterwards. The name of each variable stands
/// beside its member; the TOML key is the same name in lower case.
struct settings {
    // server
    std::string host = "127.0.0.1";            // MCP_HOST
    std::uint16_t port = 8000;                 // MCP_PORT (0: any free port)
    bool debug = false;                        // DEBUG
    std::string log_level = "INFO";            // LOG_LEVEL DEBUG|INFO|WARNING|ERROR
    std::string log_format = "text";           // LOG_FORMAT text|json
    std::filesystem::path log_file;            // LOG_FILE, empty: stderr
    std::filesystem::path sandbox_root;        // SANDBOX_ROOT, default $XDG_DATA_HOME/container-mcp
    std::vector<std::string> allowed_hosts;    // MCP_ALLOWED_HOSTS: Host values beside the loopback names and MCP_HOST
    std::vector<std::string> allowed_origins;  // MCP_ALLOWED_ORIGINS: Origin values beside the loopback ones; also CORS
    std::vector<std::pair<std::string, std::string>>
        auth_tokens;  // MCP_AUTH_TOKENS name=token,… (bearer); empty: no authentication; secret

    // limits of the HTTP side
    std::size_t max_header_bytes = 16 * 1024;          // HTTP_MAX_HEADER_BYTES
    std::size_t max_body_bytes = 16 * 1024 * 1024;     // HTTP_MAX_BODY_MB (MiB)
    std::chrono::milliseconds header_timeout{10'000};  // HTTP_HEADER_TIMEOUT (s)
    std::chrono::milliseconds body_timeout{30'000};    // HTTP_BODY_TIMEOUT (s)
    std::chrono::milliseconds idle_timeout{120'000};   // HTTP_IDLE_TIMEOUT (s): keep-alive connection without a request
    std::chrono::milliseconds write_timeout{30'000};   // HTTP_WRITE_TIMEOUT (s): a client that stops reading
    std::chrono::milliseconds keep_alive{15'000};      // SSE_KEEP_ALIVE (s): comment on a silent stream
    std::size_t max_connections = 65'536;              // MCP_MAX_CONNECTIONS
    std::size_t max_sessions = 100'000;                // MCP_MAX_SESSIONS
    std::size_t max_sessions_per_address = 50'000;     // MCP_MAX_SESSIONS_PER_ADDRESS
    std::size_t max_requests_in_flight = 4'096;        // MCP_MAX_REQUESTS (whole server)
    std::size_t max_requests_per_session = 64;         // MCP_MAX_REQUESTS_PER_SESSION
    std::size_t max_tasks = 4'096;                     // MCP_MAX_TASKS kept, running or ended
    std::size_t max_tasks_per_caller = 1'024;          // MCP_MAX_TASKS_PER_CALLER
    std::chrono::milliseconds task_ttl{3'600'000};     // MCP_TASK_TTL (s): how long a task is kept after its end
    std::chrono::milliseconds task_after{
        10'000};  // MCP_TASK_AFTER (s): a longer call becomes a task; 0: never by itself
    std::chrono::milliseconds session_timeout{24 * 3'600'000};  // MCP_SESSION_TIMEOUT (s), idle
    std::size_t event_log_bytes = 1024 * 1024;                  // MCP_EVENT_LOG_KB (KiB) per session, for Last-Event-ID
    std::size_t memory_limit_bytes =
        512 * 1024 * 1024;  // MCP_MEMORY_LIMIT_MB (MiB) of messages that wait or are kept, and of bodies
    std::chrono::milliseconds shed_delay{
        500};                   // MCP_SHED_DELAY (s): calls are refused while requests wait longer than this
    bool metrics = true;        // MCP_METRICS: serve /metrics
    std::string otlp_endpoint;  // OTEL_EXPORTER_OTLP_ENDPOINT
    std::string otlp_headers;   // OTEL_EXPORTER_OTLP_HEADERS
    std::string otel_service = "container-mcp";       // OTEL_SERVICE_NAME
    std::size_t json_depth = 64;                      // JSON_MAX_DEPTH
    std::size_t json_batch = 64;                      // JSON_MAX_BATCH
    std::chrono::milliseconds drain_timeout{10'000};  // MCP_DRAIN_TIMEOUT (s)

    // sandbox
    std::string sandbox_backend = "native";  // SANDBOX_BACKEND native, firejail
    std::vector<std::string> sandbox_require{"namespaces", "seccomp", "no_network", "limits"};  // SANDBOX_REQUIRE
    std::size_t max_runs = 0;                          // SANDBOX_MAX_RUNS at once; 0: 4 × cores
    std::size_t max_runs_per_caller = 0;               // SANDBOX_MAX_RUNS_PER_CALLER; 0: all but one
    std::size_t sandbox_waiting = 2;                   // SANDBOX_WAITING
    std::uint64_t process_limit = 64;                  // SANDBOX_PROCESS_LIMIT per run
    std::uint64_t memory_limit = 512ull << 20;         // SANDBOX_MEMORY_LIMIT (MiB) of commands
    std::uint64_t file_size_limit = 256ull << 20;      // SANDBOX_FILE_SIZE_LIMIT (MiB)
    std::uint64_t tmp_size = 64ull << 20;              // SANDBOX_TMP_SIZE (MiB)
    std::uint64_t workspace_max_size = 1024ull << 20;  // SANDBOX_WORKSPACE_MAX_MB (MiB), 0: any
    std::uint64_t workspace_max_files = 200'000;       // SANDBOX_WORKSPACE_MAX_FILES, 0: any
    std::uint64_t output_hard_limit = 64ull << 20;     // SANDBOX_OUTPUT_LIMIT (MiB) kept of each stream
    bool confine_server = true;                        // SERVER_CONFINE
    std::filesystem::path launcher_path;               // SANDBOX_LAUNCHER, default beside the executable
    bool workspace_per_session = false;                // WORKSPACE_PER_SESSION

    // bash
    std::vector<std::string> bash_allowed_commands;  // BASH_ALLOWED_COMMANDS (default in load_settings.cpp); {"*"}: all
    std::chrono::milliseconds bash_timeout_default{30'000};  // BASH_TIMEOUT_DEFAULT (s)
    std::chrono::milliseconds bash_timeout_max{120'000};     // BASH_TIMEOUT_MAX (s)

    // python
    std::string python_interpreter = "/usr/bin/python3";       // PYTHON_INTERPRETER
    std::string python_zygote = "auto";                        // PYTHON_ZYGOTE
    std::size_t python_zygote_waiting = 2;                     // PYTHON_ZYGOTE_WAITING
    std::size_t python_zygote_runs = 1000;                     // PYTHON_ZYGOTE_RUNS
    std::uint64_t python_memory_limit = 256ull << 20;          // PYTHON_MEMORY_LIMIT (MiB)
    std::chrono::milliseconds python_timeout_default{30'000};  // PYTHON_TIMEOUT_DEFAULT (s)
    std::chrono::milliseconds python_timeout_max{120'000};     // PYTHON_TIMEOUT_MAX (s)

    // files
    std::uint64_t file_max_size = 10ull << 20;  // FILE_MAX_SIZE_MB (MiB)
    std::vector<std::string> file_allowed_extensions{"txt", "md", "csv", "json",
                                                     "py"};  // FILE_ALLOWED_EXTENSIONS; "" allows none, {"*"} all

    // web
    std::chrono::milliseconds web_timeout_default{30'000};  // WEB_TIMEOUT_DEFAULT (s)
    std::vector<std::string> web_allowed_domains{"*"};      // WEB_ALLOWED_DOMAINS; {"*"}: all public addresses
    std::vector<std::string> web_allowed_private;  // WEB_ALLOWED_PRIVATE: hosts, addresses, blocks that are opened
    std::uint64_t web_max_size = 10ull << 20;      // WEB_MAX_SIZE_MB (MiB) of a page, unpacked
    std::size_t web_max_redirects = 10;            // WEB_MAX_REDIRECTS
    std::size_t web_max_connections = 64;          // WEB_MAX_CONNECTIONS of the scraper at once
    std::filesystem::path web_ca_file;             // WEB_CA_FILE: certificates trusted beside the system's (PEM)
    std::string web_search_provider = "none";      // WEB_SEARCH_PROVIDER none|searxng|brave|duckduckgo
    std::string web_search_url;                    // WEB_SEARCH_URL; empty: the provider's own
    std::string web_search_key;                    // WEB_SEARCH_KEY; secret

    // browser
    std::string web_browser_path;                            // WEB_BROWSER_PATH, empty: Chromium in its usual places
    bool web_browser_start = false;                          // WEB_BROWSER_START with the server
    std::size_t web_browser_max_pages = 4;                   // WEB_BROWSER_MAX_PAGES at once
    std::uint64_t web_browser_memory_limit = 1024ull << 20;  // WEB_BROWSER_MEMORY_LIMIT (MiB), all its processes
    std::uint64_t web_browser_max_content = 1024ull << 10;   // WEB_BROWSER_MAX_CONTENT_KB (KiB) of a page's content
    std::chrono::milliseconds web_browser_idle_timeout{
        300'000};  // WEB_BROWSER_IDLE_TIMEOUT (s); 0: ends after each page
    std::chrono::milliseconds web_browser_timeout_max{120'000};  // WEB_BROWSER_TIMEOUT_MAX (s)

    // sandboxes that last
    std::string sandbox_default_image;  // SANDBOX_DEFAULT_IMAGE; empty: native
    std::vector<std::string> sandbox_images{"native", "alpine:latest", "python-sandbox:latest", "python:3.12-alpine",
                                            "node:20-slim"};  // SANDBOX_IMAGES
    std::string sandbox_engine = "none";  // SANDBOX_ENGINE none|podman|docker|path of the engine's socket
    std::string sandbox_engine_runtime;   // SANDBOX_ENGINE_RUNTIME, for example runsc; empty: the engine's own
    bool sandbox_open_mount = false;      // SANDBOX_OPEN_MOUNT_DIRECTORY
    std::string sandbox_work_dir = "/app/results";  // SANDBOX_WORK_DIR: working folder inside a lasting sandbox
    std::string sandbox_node;                       // SANDBOX_NODE: part of every handle; empty: see node_name()
    std::chrono::milliseconds sandbox_idle_timeout{1'800'000};     // SANDBOX_IDLE_TIMEOUT (s)
    std::chrono::milliseconds sandbox_ttl{30ll * 24 * 3'600'000};  // SANDBOX_TTL (s) since its last use
    std::size_t sandbox_max_per_caller = 1'000;                    // SANDBOX_MAX_PER_CALLER
    std::uint64_t sandbox_disk_quota = 10ull << 30;  // SANDBOX_DISK_QUOTA (MiB) of a caller, all sandboxes together
    std::filesystem::path
        sandbox_upload_folder;  // SANDBOX_UPLOAD_FOLDER: where local_file_path may point; empty: nowhere
    std::chrono::milliseconds job_timeout_max{
        3'600'000};                    // SANDBOX_JOB_TIMEOUT (s): default and most for a run in the background
    std::size_t jobs_per_caller = 32;  // SANDBOX_JOBS_PER_CALLER at once; as many ended ones × 4 are kept
    std::string public_url;            // MCP_PUBLIC_URL: how clients reach this server, for download links
    std::uint64_t kernel_memory_limit = 512ull << 20;  // SANDBOX_KERNEL_MEMORY (MiB) of a Python kernel
    std::string pypi_index_url;                        // PYPI_INDEX_URL: where packages come from; empty: as pip has it
    std::vector<std::string> pypi_hosts;               // PYPI_HOSTS: further hosts that the index sends to
    bool pypi_allow_source = false;                    // PYPI_ALLOW_SOURCE: packages that are built, not only wheels
    std::string npm_registry_url;  // NPM_REGISTRY_URL: where npm packages come from; empty: as npm has it
    std::chrono::milliseconds install_timeout{300'000};  // SANDBOX_INSTALL_TIMEOUT (s)

    // tools on offer
    bool enable_system = true;   // TOOLS_ENABLE_SYSTEM
    bool enable_file = true;     // TOOLS_ENABLE_FILE
    bool enable_web = true;      // TOOLS_ENABLE_WEB
    bool enable_sandbox = true;  // TOOLS_ENABLE_SANDBOX
};

}  // namespace cmcp
