#include "commands/admin_lists.hpp"

#include "jsonrpc/read_object.hpp"

#include <chrono>

namespace cmcp::command {

namespace {

double number_in(const json::object& row, std::string_view name)
{
    const auto* value = row.if_contains(name);
    return value != nullptr && value->is_number() ? value->to_number<double>() : 0;
}

}  // namespace

std::string count_in(const json::object& row, std::string_view name)
{
    return std::to_string(static_cast<long long>(number_in(row, name)));
}

std::string bytes_in(const json::object& row, std::string_view name)
{
    const auto* value = row.if_contains(name);
    return value != nullptr && value->is_number() ? bytes_text(value->to_number<double>()) : std::string();
}

namespace {

std::string principal_in(const json::object& row)
{
    const auto name = text_of(row, "principal");
    return name.empty() ? "-" : name;
}

std::string since(const json::object& row, std::string_view name)
{
    const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
    const double then = number_in(row, name);
    return then == 0 ? "" : duration_text(now.count() - then);
}

std::string handle_in(const json::object& row, std::string_view name)
{
    const auto handle = text_of(row, name);
    return prints_whole() ? handle : short_handle(handle);
}

std::vector<std::string> run_cells(const json::object& row)
{
    const auto tool = text_of(row, "tool");
    return {handle_in(row, "id"),
            text_of(row, "kind"),
            principal_in(row),
            tool,
            text_of(row, "state"),
            duration_text(number_in(row, "seconds")),
            bytes_in(row, "memory_bytes"),
            text_of(row, "first_line")};
}

std::vector<std::string> sandbox_cells(const json::object& row)
{
    std::string ports;
    if (const auto* list = row.if_contains("ports"); list != nullptr && list->is_array())
        for (const auto& port : list->as_array())
            ports += (ports.empty() ? "" : ",") + std::to_string(port.to_number<int>());
    return {handle_in(row, "id"),     text_of(row, "name"),    principal_in(row),
            text_of(row, "state"),    since(row, "last_used"), bytes_in(row, "disk_bytes"),
            count_in(row, "kernels"), count_in(row, "shells"), ports,
            text_of(row, "image")};
}

std::vector<std::string> session_cells(const json::object& row)
{
    return {text_of(row, "id"),        principal_in(row),       text_of(row, "client"),  text_of(row, "revision"),
            text_of(row, "transport"), text_of(row, "address"), since(row, "last_used"), count_in(row, "requests")};
}

std::vector<std::string> job_cells(const json::object& row)
{
    return {handle_in(row, "id"),  text_of(row, "kind"),  principal_in(row),      text_of(row, "tool"),
            text_of(row, "state"), since(row, "created"), text_of(row, "summary")};
}

std::vector<std::string> usage_cells(const json::object& row)
{
    return {principal_in(row),           count_in(row, "calls"),        count_in(row, "calls_failed"),
            count_in(row, "runs"),       count_in(row, "runs_waiting"), count_in(row, "sandboxes"),
            bytes_in(row, "disk_bytes"), count_in(row, "jobs"),         count_in(row, "kernels"),
            count_in(row, "shells"),     count_in(row, "sessions"),     duration_text(number_in(row, "cpu_seconds"))};
}

std::vector<std::string> end_cells(const json::object& row)
{
    auto why = text_of(row, "sentence");
    if (const auto* denied = row.if_contains("denied"); denied != nullptr && denied->is_array())
        for (const auto& each : denied->as_array())
            if (each.is_string()) why += (why.empty() ? "" : "; ") + std::string(each.as_string());
    return {since(row, "at"),      principal_in(row),       text_of(row, "tool"),
            text_of(row, "cause"), text_of(row, "setting"), why};
}

// Part of a whole, "12 of 31 GiB".
std::string use_in(const json::object& row, std::string_view free, std::string_view whole)
{
    const double all = number_in(row, whole);
    return all == 0 ? "" : bytes_text(all - number_in(row, free)) + " of " + bytes_text(all);
}

std::vector<std::string> member_cells(const json::object& row)
{
    const auto state = text_of(row, "state");
    if (!row.contains("max_runs")) return {text_of(row, "name"), state};
    return {text_of(row, "name"),
            state,
            count_in(row, "runs") + " of " + count_in(row, "max_runs"),
            count_in(row, "runs_waiting"),
            count_in(row, "sandboxes"),
            count_in(row, "homes"),
            use_in(row, "memory_available", "memory"),
            use_in(row, "disk_available", "disk"),
            std::to_string(static_cast<int>(100 * number_in(row, "pressure"))) + "%",
            text_of(row, "version")};
}

std::vector<std::string> upstream_cells(const json::object& row)
{
    return {text_of(row, "name"),   text_of(row, "kind"),     text_of(row, "status"), count_in(row, "tools"),
            count_in(row, "calls"), text_of(row, "protocol"), text_of(row, "place"),  text_of(row, "problem")};
}

}  // namespace

const admin_list run_list{"/admin/runs",
                          "runs",
                          {{"ID"},
                           {"KIND"},
                           {"WHO", true},
                           {"TOOL", true},
                           {"STATE"},
                           {"TIME", false, true},
                           {"MEMORY", false, true},
                           {"FIRST LINE", true}},
                          run_cells,
                          "Nothing runs."};
const admin_list sandbox_list{"/admin/sandboxes",
                              "sandboxes",
                              {{"ID"},
                               {"NAME", true},
                               {"WHO", true},
                               {"STATE"},
                               {"UNUSED", false, true},
                               {"DISK", false, true},
                               {"KERNELS", true, true},
                               {"SHELLS", true, true},
                               {"PORTS", true},
                               {"IMAGE", true}},
                              sandbox_cells,
                              "There are no sandboxes."};
const admin_list session_list{"/admin/sessions",
                              "sessions",
                              {{"ID"},
                               {"WHO", true},
                               {"CLIENT", true},
                               {"REVISION"},
                               {"TRANSPORT", true},
                               {"ADDRESS", true},
                               {"UNUSED", false, true},
                               {"REQUESTS", true, true}},
                              session_cells,
                              "There are no sessions."};
const admin_list job_list{
    "/admin/jobs",
    "jobs",
    {{"ID"}, {"KIND"}, {"WHO", true}, {"TOOL", true}, {"STATE"}, {"BEGUN", false, true}, {"WHAT", true}},
    job_cells,
    "There are no jobs."};
const admin_list usage_list{"/admin/usage",
                            "principals",
                            {{"WHO", true},
                             {"CALLS", false, true},
                             {"FAILED", true, true},
                             {"RUNS", false, true},
                             {"WAIT", false, true},
                             {"BOXES", false, true},
                             {"DISK", false, true},
                             {"JOBS", false, true},
                             {"KERN", false, true},
                             {"SHELLS", true, true},
                             {"SESSIONS", true, true},
                             {"CPU", false, true}},
                            usage_cells,
                            "Nobody has called yet."};
const admin_list member_list{"/admin/cluster",
                             "members",
                             {{"NODE"},
                              {"STATE"},
                              {"RUNS", false, true},
                              {"WAIT", false, true},
                              {"BOXES", false, true},
                              {"WORKSPACES", true, true},
                              {"MEMORY", false, true},
                              {"DISK", false, true},
                              {"PRESSURE", false, true},
                              {"VERSION", true}},
                             member_cells,
                             "This server is alone (CLUSTER_MEMBERS names no others)."};
const admin_list upstream_list{"/admin/layers",
                               "upstreams",
                               {{"NAME"},
                                {"KIND"},
                                {"STATE"},
                                {"TOOLS", false, true},
                                {"CALLS", false, true},
                                {"REVISION", true},
                                {"PLACE", true},
                                {"PROBLEM", true}},
                               upstream_cells,
                               "config.toml names no other MCP servers."};
const admin_list end_list{
    "/admin/ends",
    "ends",
    {{"AGO", false, true}, {"WHO", true}, {"TOOL", true}, {"CAUSE"}, {"SETTING", true}, {"WHY", true}},
    end_cells,
    "All runs have simply ended."};

}  // namespace cmcp::command
