#include "config/former_settings.hpp"

#include "text/ascii.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace cmcp {

namespace {

constexpr std::string_view by_http_timeout = "HTTP_TIMEOUT sets it";
constexpr std::string_view by_max_live = "there are as many as SANDBOX_MAX_LIVE says";
constexpr std::string_view etcd_instead =
    "is gone, because etcd tells servers of each other: leave it out, and set CLUSTER_ETCD and CLUSTER_LISTEN, as "
    "docs/cluster.md says";

constexpr std::array formers{
    // A server that another version of it made a member of a cluster must not begin alone, with what belongs to all.
    former_setting{"CLUSTER_MEMBERS", etcd_instead, "", true},
    former_setting{"CLUSTER_DIRECTORY", etcd_instead, "", true},

    former_setting{"MCP_CALLS_PER_MINUTE", "", "calls"},
    former_setting{"SANDBOX_MAX_RUNS_PER_CALLER", "", "runs"},
    former_setting{"SANDBOX_JOBS_PER_CALLER", "", "jobs"},
    former_setting{"MCP_MAX_TASKS_PER_CALLER", "", "tasks"},
    former_setting{"SANDBOX_MAX_PER_CALLER", "", "sandboxes"},
    former_setting{"SANDBOX_KERNELS_PER_CALLER", "", "kernels"},
    former_setting{"SANDBOX_SHELLS_PER_CALLER", "", "shells"},
    former_setting{"MCP_MAX_SESSIONS_PER_CALLER", "", "sessions"},
    former_setting{"SANDBOX_NETWORK_MB_PER_HOUR", "", "network"},

    former_setting{"HTTP_HEADER_TIMEOUT", "it is 10 seconds, or HTTP_TIMEOUT where that is less", ""},
    former_setting{"HTTP_BODY_TIMEOUT", by_http_timeout, ""},
    former_setting{"HTTP_WRITE_TIMEOUT", by_http_timeout, ""},
    former_setting{"HTTP_IDLE_TIMEOUT", "it is 120 seconds, or four times HTTP_TIMEOUT where that is more", ""},
    former_setting{"SANDBOX_MAX_KERNELS", by_max_live, ""},
    former_setting{"SANDBOX_MAX_SHELLS", by_max_live, ""},
    former_setting{"SANDBOX_MAX_JOBS", "there are as many places as SANDBOX_MAX_RUNS says", ""},
    former_setting{"PYTHON_ZYGOTE_WAITING", "SANDBOX_WAITING sets it", ""},
    former_setting{"MCP_PREVIEW_TTL", "SANDBOX_LINK_TTL sets it", ""},
    former_setting{"MCP_MAX_SESSIONS_PER_ADDRESS", "it is half of MCP_MAX_SESSIONS", ""},
    former_setting{"WEB_BROWSER_START", "a browser starts with the first page of its caller", ""},
    former_setting{"MCP_METRICS", "/metrics is always served, to those who may read it", ""},

    former_setting{"AUDIT_HEAD_EVERY", "it is 60 seconds", ""},
    former_setting{"CLUSTER_CONFIRM", "it is 0.25 seconds", ""},
    former_setting{"PYTHON_ZYGOTE_RUNS", "it is 1000", ""},
    former_setting{"SANDBOX_OUTPUT_LIMIT", "it is 64 MiB", ""},
    former_setting{"HTTP_MAX_HEADER_BYTES", "it is 16384", ""},
    former_setting{"SSE_KEEP_ALIVE", "it is 15 seconds", ""},
    former_setting{"MCP_EVENT_LOG_KB", "it is 1024", ""},
    former_setting{"MCP_SHED_DELAY", "it is 0.5 seconds", ""},
    former_setting{"JSON_MAX_DEPTH", "it is 64", ""},
    former_setting{"JSON_MAX_BATCH", "it is 64", ""},
    former_setting{"AUTH_UI_SCOPES", "/ui asks for all scopes", ""},
    former_setting{"MCP_MAX_CONNECTIONS", "it is 65536, or what `ulimit -Hn` allows", ""},
    former_setting{"MCP_MAX_REQUESTS", "it is 4096", ""},
    former_setting{"MCP_MAX_REQUESTS_PER_SESSION", "it is 64", ""},
    former_setting{"MCP_MAX_TASKS", "it is 4096", ""},
    former_setting{"MCP_TASK_TTL", "it is an hour", ""},
    former_setting{"MCP_METRICS_PRINCIPALS", "it is 50", ""},
    former_setting{"SANDBOX_NETWORK_CONNECTIONS", "it is 64", ""},
    former_setting{"SANDBOX_TOOLS_CALLS", "it is 1000", ""},
    former_setting{"SANDBOX_KERNEL_CPU", "it is four hours", ""},
    former_setting{"SANDBOX_INSTALL_TIMEOUT", "it is five minutes", ""},
    former_setting{"WEB_MAX_REDIRECTS", "it is 10", ""},
    former_setting{"WEB_MAX_CONNECTIONS", "it is 64", ""},
    former_setting{"WEB_BROWSER_MAX_PAGES", "it is 4", ""},
    former_setting{"WEB_BROWSER_MAX_CONTENT_KB", "it is 1024", ""},
    former_setting{"WEB_BROWSER_TIMEOUT_MAX", "it is 120 seconds", ""},
};

}  // namespace

std::span<const former_setting> former_settings() { return formers; }

const former_setting* find_former_setting(std::string_view name)
{
    auto wanted = upper_case(name);
    std::ranges::replace(wanted, '.', '_');
    const auto last = upper_case(name.substr(name.rfind('.') + 1));
    const auto* const row =
        std::ranges::find_if(formers, [&](const auto& each) { return each.name == wanted || each.name == last; });
    return row == formers.end() ? nullptr : row;
}

}  // namespace cmcp
