#include "config/setting.hpp"
#include "config/setting_makers.hpp"
#include "config/value_parsers.hpp"
#include "text/nearest.hpp"

#include <algorithm>
#include <utility>

namespace cmcp {

namespace {

using namespace makers;
using namespace std::chrono_literals;
using s = settings;

constexpr std::uint64_t many = 10'000'000;
constexpr std::uint64_t mib = 1ull << 20;
constexpr std::uint64_t terabyte = 1ull << 20;  // in MiB
constexpr auto day = std::chrono::milliseconds(24h);

setting row(std::string_view name, conversion how, std::string_view description, std::string_view toml = {},
            bool secret = false)
{
    return {name, description, std::move(how.first), std::move(how.second), secret, toml};
}

std::vector<setting> server_rows()
{
    return {
        row("MCP_HOST", host(&s::host), "address to listen on", "server.host"),
        row("MCP_PORT", port(&s::port), "port to listen on; 0 takes any free one", "server.port"),
        row("MCP_ALLOWED_HOSTS", list(&s::allowed_hosts),
            "Host header values that are accepted beside the loopback names and MCP_HOST"),
        row("MCP_ALLOWED_ORIGINS", list(&s::allowed_origins),
            "Origin header values that are accepted beside the loopback ones; * for any"),
        row("MCP_AUTH_TOKENS", tokens(), "bearer tokens as name=token,…; empty: no authentication", {}, true),
        row("DEBUG", flag(&s::debug), "log everything, whatever LOG_LEVEL says"),
        row("LOG_LEVEL", log_level(), "DEBUG, INFO, WARNING or ERROR", "logging.level"),
        row("LOG_FORMAT", log_format(), "text or json (JSON lines)", "logging.use_structured_format"),
        row("LOG_FILE", path(&s::log_file, false), "file for the log, rotated at 10 MiB; empty: stderr",
            "logging.log_file"),
        row("SANDBOX_ROOT", path(&s::sandbox_root, true), "folder that holds the workspaces"),
    };
}

std::vector<setting> limit_rows()
{
    return {
        row("HTTP_MAX_HEADER_BYTES", number(&s::max_header_bytes, 1024, 1024 * 1024), "largest request header, bytes"),
        row("HTTP_MAX_BODY_MB", number(&s::max_body_bytes, 1, 4096, mib), "largest request body, MiB"),
        row("HTTP_HEADER_TIMEOUT", seconds(&s::header_timeout, 100ms, day), "time for a request's header, seconds"),
        row("HTTP_BODY_TIMEOUT", seconds(&s::body_timeout, 100ms, day), "time for a request's body, seconds"),
        row("HTTP_IDLE_TIMEOUT", seconds(&s::idle_timeout, 100ms, day),
            "a connection without a request is closed after so many seconds"),
        row("HTTP_WRITE_TIMEOUT", seconds(&s::write_timeout, 100ms, day),
            "a client that stops reading is cut after so many seconds"),
        row("SSE_KEEP_ALIVE", seconds(&s::keep_alive, 100ms, day), "comment on a silent stream every so many seconds"),
        row("MCP_MAX_CONNECTIONS", number(&s::max_connections, 1, many), "connections at once"),
        row("MCP_MAX_SESSIONS", number(&s::max_sessions, 1, many), "sessions at once"),
        row("MCP_MAX_SESSIONS_PER_ADDRESS", number(&s::max_sessions_per_address, 1, many),
            "sessions of one client address"),
        row("MCP_MAX_REQUESTS", number(&s::max_requests_in_flight, 1, many), "requests in flight in the whole server"),
        row("MCP_MAX_REQUESTS_PER_SESSION", number(&s::max_requests_per_session, 1, many),
            "requests in flight in one session"),
        row("MCP_MAX_TASKS", number(&s::max_tasks, 1, many), "tasks that are kept, running or ended"),
        row("MCP_MAX_TASKS_PER_CALLER", number(&s::max_tasks_per_caller, 1, many), "tasks of one caller that are kept"),
        row("MCP_TASK_TTL", seconds(&s::task_ttl, 1s, 365 * day), "a task's result is kept so many seconds"),
        row("MCP_TASK_AFTER", seconds(&s::task_after, 0ms, day),
            "a run that takes longer becomes a task for clients that take tasks, seconds; 0: never by itself"),
        row("MCP_SESSION_TIMEOUT", seconds(&s::session_timeout, 1s, 365 * day),
            "an idle session ends after so many seconds"),
        row("MCP_EVENT_LOG_KB", number(&s::event_log_bytes, 1, 1024 * 1024, 1024),
            "messages kept for Last-Event-ID, KiB a session"),
        row("MCP_DRAIN_TIMEOUT", seconds(&s::drain_timeout, 0ms, day),
            "running calls get so many seconds when the server stops"),
        row("MCP_MEMORY_LIMIT_MB", number(&s::memory_limit_bytes, 16, 1024 * 1024, mib),
            "memory of messages that wait for clients or are kept for them, and of request bodies, MiB"),
        row("MCP_SHED_DELAY", seconds(&s::shed_delay, 10ms, day),
            "calls are refused while requests wait longer than so many seconds to be looked at"),
        row("OTEL_EXPORTER_OTLP_ENDPOINT", url_or_none(&s::otlp_endpoint),
            "collector that spans are posted to (OTLP/HTTP with JSON); empty: none"),
        row("OTEL_EXPORTER_OTLP_HEADERS", text(&s::otlp_headers), "headers of these requests as name=value,…", {},
            true),
        row("OTEL_SERVICE_NAME", text(&s::otel_service, 200), "service.name of the spans"),
        row("MCP_METRICS", flag(&s::metrics), "serve figures for Prometheus at /metrics"),
        row("JSON_MAX_DEPTH", number(&s::json_depth, 8, 1024), "nesting of a JSON message"),
        row("JSON_MAX_BATCH", number(&s::json_batch, 1, 10'000),
            "messages in one JSON-RPC batch (revision 2025-03-26)"),
    };
}

std::vector<setting> sandbox_rows()
{
    return {
        row("SANDBOX_BACKEND", choice(&s::sandbox_backend, {"native", "firejail"}),
            "how programs are confined: native or firejail"),
        row("SANDBOX_REQUIRE", list(&s::sandbox_require), "layers without which the server does not start"),
        row("SERVER_CONFINE", flag(&s::confine_server),
            "the server gives up starting programs and reaching other files once it runs"),
        row("SANDBOX_LAUNCHER", path(&s::launcher_path, false), "the launcher program; empty: beside container-mcp"),
        row("SANDBOX_MAX_RUNS", number(&s::max_runs, 0, 100'000), "runs at once; 0: four times the cores"),
        row("SANDBOX_MAX_RUNS_PER_CALLER", number(&s::max_runs_per_caller, 0, 100'000),
            "runs of one caller at once; 0: all but one"),
        row("SANDBOX_WAITING", number(&s::sandbox_waiting, 0, 64),
            "runs that are kept ready, confined, for the next command of the caller that came last"),
        row("SANDBOX_PROCESS_LIMIT", number(&s::process_limit, 1, 100'000), "processes and threads of a run"),
        row("SANDBOX_MEMORY_LIMIT", number(&s::memory_limit, 16, terabyte, mib), "memory of a command, MiB"),
        row("SANDBOX_FILE_SIZE_LIMIT", number(&s::file_size_limit, 1, terabyte, mib),
            "largest file that a run may write, MiB"),
        row("SANDBOX_TMP_SIZE", number(&s::tmp_size, 1, terabyte, mib), "size of a run's /tmp and /dev/shm, MiB each"),
        row("SANDBOX_WORKSPACE_MAX_MB", number(&s::workspace_max_size, 0, terabyte, mib),
            "what a workspace may hold before runs that fill it are ended, MiB; 0: any"),
        row("SANDBOX_WORKSPACE_MAX_FILES", number(&s::workspace_max_files, 0, 1'000'000'000),
            "files and folders in a workspace; 0: any"),
        row("SANDBOX_OUTPUT_LIMIT", number(&s::output_hard_limit, 1, terabyte, mib),
            "output that ends a run, MiB a stream"),
        row("WORKSPACE_PER_SESSION", flag(&s::workspace_per_session),
            "a workspace for each session instead of one for each caller"),
        row("BASH_ALLOWED_COMMANDS", commands(&s::bash_allowed_commands),
            "programs that exist inside the sandbox; * for all"),
        row("BASH_TIMEOUT_DEFAULT", seconds(&s::bash_timeout_default, 100ms, day),
            "time of a command that asks for none, seconds"),
        row("BASH_TIMEOUT_MAX", seconds(&s::bash_timeout_max, 100ms, day),
            "most time that a command can ask for, seconds"),
        row("PYTHON_INTERPRETER", absolute(&s::python_interpreter), "the interpreter, as seen inside the sandbox"),
        row("PYTHON_ZYGOTE", choice(&s::python_zygote, {"off", "stdlib", "data", "auto"}),
            "interpreter kept loaded for fast runs: off, stdlib, data (with numpy, pandas, matplotlib), or auto: data "
            "for code that names them"),
        row("PYTHON_ZYGOTE_WAITING", number(&s::python_zygote_waiting, 0, 64),
            "clones of it that wait, confined, for the next run"),
        row("PYTHON_ZYGOTE_RUNS", number(&s::python_zygote_runs, 1, 1'000'000),
            "clones of one interpreter at most; 1: each run has a hash seed and addresses of its own"),
        row("PYTHON_MEMORY_LIMIT", number(&s::python_memory_limit, 16, terabyte, mib), "memory of a Python run, MiB"),
        row("PYTHON_TIMEOUT_DEFAULT", seconds(&s::python_timeout_default, 100ms, day),
            "time of a Python run that asks for none, seconds"),
        row("PYTHON_TIMEOUT_MAX", seconds(&s::python_timeout_max, 100ms, day),
            "most time that a Python run can ask for, seconds"),
    };
}

std::vector<setting> tool_rows()
{
    return {
        row("FILE_MAX_SIZE_MB", number(&s::file_max_size, 1, 4096, mib),
            "largest file that the file tools read or write, MiB"),
        row("FILE_ALLOWED_EXTENSIONS", extensions(&s::file_allowed_extensions),
            "extensions that the file tools accept; * for all"),
        row("TOOLS_ENABLE_SYSTEM", flag(&s::enable_system), "offer the system_* tools"),
        row("TOOLS_ENABLE_FILE", flag(&s::enable_file), "offer the file_* tools"),
        row("TOOLS_ENABLE_WEB", flag(&s::enable_web), "offer the web_* tools"),
        row("TOOLS_ENABLE_SANDBOX", flag(&s::enable_sandbox), "offer the tools of sandboxes that last, and jobs"),
    };
}

std::vector<setting> lasting_rows()
{
    return {
        row("SANDBOX_DEFAULT_IMAGE", text(&s::sandbox_default_image),
            "image of a sandbox made without one; empty: native", "docker.default_image"),
        row("SANDBOX_IMAGES", list(&s::sandbox_images), "images that may be asked for; * for any"),
        row("SANDBOX_ENGINE", engine(&s::sandbox_engine),
            "where sandboxes with an image run: none, podman, docker, or the path of the engine's socket; none: an "
            "image gives the programs of this machine"),
        row("SANDBOX_ENGINE_RUNTIME", text(&s::sandbox_engine_runtime, 64),
            "runtime that the engine uses, for example runsc; empty: its own"),
        row("SANDBOX_OPEN_MOUNT_DIRECTORY", flag(&s::sandbox_open_mount),
            "tell the folder of a sandbox on this machine in results", "docker.open_mount_directory"),
        row("SANDBOX_WORK_DIR", absolute(&s::sandbox_work_dir), "working folder inside a sandbox",
            "docker.container_work_dir"),
        row("SANDBOX_NODE", text(&s::sandbox_node, 32),
            "this machine's name in handles; empty: its host name at the first start, kept in SANDBOX_ROOT/node"),
        row("SANDBOX_IDLE_TIMEOUT", seconds(&s::sandbox_idle_timeout, 1s, 365 * day),
            "an unused sandbox is stopped after so many seconds"),
        row("SANDBOX_TTL", seconds(&s::sandbox_ttl, 1s, 3650 * day),
            "an unused sandbox is deleted after so many seconds"),
        row("SANDBOX_MAX_PER_CALLER", number(&s::sandbox_max_per_caller, 1, many), "sandboxes of one caller"),
        row("SANDBOX_DISK_QUOTA", number(&s::sandbox_disk_quota, 1, terabyte, mib),
            "disk of one caller's sandboxes together, MiB"),
        row("SANDBOX_UPLOAD_FOLDER", path(&s::sandbox_upload_folder, false),
            "folder that local_file_path is taken from; empty: none"),
        row("SANDBOX_JOB_TIMEOUT", seconds(&s::job_timeout_max, 1s, 365 * day),
            "time of a run in the background, default and maximum, seconds"),
        row("SANDBOX_JOBS_PER_CALLER", number(&s::jobs_per_caller, 1, 10'000),
            "runs of one caller in the background at once"),
        row("SANDBOX_KERNEL_MEMORY", number(&s::kernel_memory_limit, 32, terabyte, mib),
            "memory of a Python kernel, MiB"),
        row("SANDBOX_INSTALL_TIMEOUT", seconds(&s::install_timeout, 1s, day),
            "time of an installation of packages, seconds"),
        row("PYPI_INDEX_URL", url_or_none(&s::pypi_index_url),
            "where packages are installed from; empty: pip's own index", "mirror.pypi_index_url"),
        row("PYPI_HOSTS", list(&s::pypi_hosts), "further hosts that PYPI_INDEX_URL takes packages from"),
        row("PYPI_ALLOW_SOURCE", flag(&s::pypi_allow_source),
            "install packages that must be built, too, not only wheels"),
        row("NPM_REGISTRY_URL", url_or_none(&s::npm_registry_url),
            "where npm packages are installed from; empty: npm's own registry"),
        row("MCP_PUBLIC_URL", text(&s::public_url),
            "how clients reach this server, for download links and the endpoint of /sse; empty: the address it listens "
            "on"),
    };
}

std::vector<setting> web_rows()
{
    return {
        row("WEB_TIMEOUT_DEFAULT", seconds(&s::web_timeout_default, 100ms, day),
            "time of a call of a web tool, seconds"),
        row("WEB_ALLOWED_DOMAINS", list(&s::web_allowed_domains),
            "hosts that the web tools may reach: example.com, *.example.com, host:port, !host; * for all"),
        row("WEB_ALLOWED_PRIVATE", list(&s::web_allowed_private),
            "hosts and addresses that may be reached though they are not public"),
        row("WEB_MAX_SIZE_MB", number(&s::web_max_size, 1, 1024, mib), "largest page, unpacked, MiB"),
        row("WEB_MAX_REDIRECTS", number(&s::web_max_redirects, 0, 100), "redirects that are followed"),
        row("WEB_MAX_CONNECTIONS", number(&s::web_max_connections, 1, 10'000),
            "connections of web_scrape and web_search at once"),
        row("WEB_CA_FILE", path(&s::web_ca_file, false), "certificates that are trusted beside the system's (PEM)"),
        row("WEB_SEARCH_PROVIDER", choice(&s::web_search_provider, {"none", "searxng", "brave", "duckduckgo"}),
            "who answers web_search: searxng, brave, duckduckgo or none"),
        row("WEB_SEARCH_URL", url_or_none(&s::web_search_url), "address of the provider; needed for searxng"),
        row("WEB_BROWSER_PATH", text(&s::web_browser_path),
            "the browser that web_browse drives; empty: Chromium in its usual places"),
        row("WEB_BROWSER_START", flag(&s::web_browser_start),
            "start the browser with the server instead of with the first page"),
        row("WEB_BROWSER_MAX_PAGES", number(&s::web_browser_max_pages, 1, 10), "pages at once"),
        row("WEB_BROWSER_MEMORY_LIMIT", number(&s::web_browser_memory_limit, 256, terabyte, mib),
            "memory of the browser with all its pages, MiB"),
        row("WEB_BROWSER_MAX_CONTENT_KB", number(&s::web_browser_max_content, 1, 16 * 1024, 1024),
            "most of a page's content in an answer, KiB"),
        row("WEB_BROWSER_IDLE_TIMEOUT", seconds(&s::web_browser_idle_timeout, 0ms, day),
            "an idle browser ends after so many seconds; 0: after each page"),
        row("WEB_BROWSER_TIMEOUT_MAX", seconds(&s::web_browser_timeout_max, 100ms, day),
            "most time that a call of web_browse can ask for, seconds"),
        row("WEB_SEARCH_KEY", text(&s::web_search_key), "key of the provider; needed for brave", {}, true),
    };
}

constexpr std::pair<std::string_view, std::vector<setting> (*)()> setting_topics[] = {
    {"Server and log", &server_rows},
    {"Limits, tasks and figures", &limit_rows},
    {"Runs", &sandbox_rows},
    {"Files and groups of tools", &tool_rows},
    {"Web", &web_rows},
    {"Sandboxes and packages", &lasting_rows},
};

}  // namespace

const std::vector<setting>& setting_table()
{
    static const std::vector<setting> table = [] {
        std::vector<setting> all;
        for (const auto& [topic, rows] : setting_topics) {
            for (auto& entry : rows()) {
                entry.topic = topic;
                all.push_back(std::move(entry));
            }
        }
        return all;
    }();
    return table;
}

const setting* find_setting(std::string_view name)
{
    const std::string wanted = values::upper(name);
    for (const auto& entry : setting_table()) {
        if (entry.name == wanted) return &entry;
    }
    return nullptr;
}

const setting* find_toml_setting(std::string_view path)
{
    for (const auto& entry : setting_table()) {
        if (!entry.toml.empty() && entry.toml == path) return &entry;
    }
    std::string joined(path);
    std::replace(joined.begin(), joined.end(), '.', '_');
    if (const auto* found = find_setting(joined)) return found;
    return find_setting(path.substr(path.rfind('.') + 1));
}

std::string_view nearest_setting(std::string_view name)
{
    const std::string wanted = values::upper(name.substr(0, 64));
    const auto away = [&](const setting& entry) {
        const auto by_name = edit_distance(wanted, entry.name);
        return entry.toml.empty() ? by_name : std::min(by_name, edit_distance(wanted, values::upper(entry.toml)));
    };
    const auto& table = setting_table();
    return std::min_element(table.begin(), table.end(),
                            [&](const setting& a, const setting& b) { return away(a) < away(b); })
        ->name;
}

}  // namespace cmcp
