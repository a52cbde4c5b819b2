#include "commands/admin_lists.hpp"
#include "commands/commands.hpp"
#include "commands/remote_choice.hpp"
#include "commands/text_table.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "text/time_text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace cmcp::command {

namespace {

constexpr int patience_with_output = 60;  // seconds; the server answers as soon as there is some

void print_now(std::string_view text)
{
    std::cout << text << std::flush;
    if (!std::cout) throw closed_output();
}

// ---------------------------------------------------------------- a job
struct found_job {
    std::string id;
    std::string principal;
};

awaitable<std::vector<found_job>> jobs_named(server_client& server, std::string word)
{
    const auto answer = co_await server.ask_or_throw("GET", "/admin/jobs");
    std::vector<found_job> named;
    for (const auto& row : answer.at("jobs").as_array()) {
        found_job each{text_of(row.as_object(), "id"), text_of(row.as_object(), "principal")};
        if (names_handle(word, each.id)) named.push_back(std::move(each));
    }
    co_return named;
}

// With `follow` until its end, else what is there now.
awaitable<int> show_job(server_client& server, found_job job, bool follow)
{
    if (!server.place().socket.empty()) server.act_for(job.principal);
    std::uint64_t cursor = 0;
    for (bool goes_on = true; goes_on;) {
        json::object wish{{"job_id", job.id}, {"cursor", cursor}};
        if (follow) wish["until"] = "output";
        if (follow) wish["wait"] = patience_with_output;
        const auto heard = co_await server.tool("job_poll", std::move(wish));
        print_now(view_of(heard, "output"));
        cursor = count_of(heard, "cursor");
        const bool has_ended = heard.contains("ended");
        goes_on = flag_of(heard, "more") || (follow && !has_ended);
        if (!goes_on && has_ended && text_of(heard, "state") != "finished")
            std::cerr << "container-mcp: the job is " << text_of(heard, "state") << '\n';
    }
    co_return 0;
}

// ---------------------------------------------------------------- a sandbox
struct log_entry {
    double at = 0;
    std::string id;  // that shows it once
    std::string line;
};

// "2026-11-24T10:55:28.123456Z"; 0 for another text.
double moment_in_iso(const std::string& iso)
{
    std::tm parts{};
    const char* end = ::strptime(iso.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
    return end == nullptr ? 0 : static_cast<double>(::timegm(&parts)) + std::strtod(end, nullptr);
}

std::string clock_text(double at) { return utc_text(static_cast<std::time_t>(std::floor(at)), "%Y-%m-%d %H:%M:%S"); }

std::string one_line(std::string text)
{
    std::ranges::replace_if(
        text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
    return text;
}

log_entry entry_of(double at, std::string id, const std::string& tool, const std::string& what, const std::string& end)
{
    std::string line = clock_text(at) + "  " + tool + "  " + end;
    if (!what.empty()) line += "  " + what;
    return {at, std::move(id), one_line(std::move(line)) + "\n"};
}

double moment_of(const json::object& row, std::string_view name)
{
    const auto* value = row.if_contains(name);
    return value != nullptr && value->is_number() ? value->to_number<double>() : 0;
}

bool is_in(const json::object& row, const std::string& sandbox) { return text_of(row, "sandbox_id") == sandbox; }

const json::array& rows_in(const json::object& answer, std::string_view member)
{
    static const json::array none;
    const auto* rows = answer.if_contains(member);
    return rows != nullptr && rows->is_array() ? rows->get_array() : none;
}

std::string end_in_sentence(const json::object& row)
{
    const auto cause = text_of(row, "cause");
    return row.contains("exit_code") ? cause + " " + std::to_string(number_of(row, "exit_code")) : cause;
}

void add_runs(std::vector<log_entry>& to, const json::array& rows, const std::string& sandbox)
{
    for (const auto& row : rows) {
        const auto& run = row.as_object();
        const auto kind = text_of(run, "kind"), tool = text_of(run, "tool");
        if (is_in(run, sandbox) && kind != "job")
            to.push_back(entry_of(moment_of(run, "started"), "run " + text_of(run, "id"), tool.empty() ? kind : tool,
                                  text_of(run, "first_line"), "runs"));
    }
}

void add_jobs(std::vector<log_entry>& to, const json::array& rows, const std::string& sandbox)
{
    for (const auto& row : rows) {
        const auto& job = row.as_object();
        if (!is_in(job, sandbox)) continue;
        const bool ended = moment_of(job, "ended") != 0;
        const auto state = text_of(job, "state");
        to.push_back(entry_of(moment_of(job, ended ? "ended" : "created"), "job " + text_of(job, "id") + state,
                              text_of(job, "tool"), short_handle(text_of(job, "id")) + "  " + text_of(job, "summary"),
                              "job " + state));
    }
}

void add_ends(std::vector<log_entry>& to, const json::array& rows, const std::string& sandbox)
{
    for (const auto& row : rows) {
        const auto& end = row.as_object();
        if (is_in(end, sandbox))
            to.push_back(entry_of(moment_of(end, "at"), "end " + jsonrpc::write_json(end), text_of(end, "tool"),
                                  text_of(end, "first_line") + "  " + text_of(end, "sentence"), text_of(end, "cause")));
    }
}

// Of the audit, where there is one: those that a list of bad ends has not.
void add_calls(std::vector<log_entry>& to, const json::array& rows, const std::string& sandbox)
{
    for (const auto& row : rows) {
        const auto& call = row.as_object();
        if (text_of(call, "sandbox") != sandbox || text_of(call, "kind") != "call") continue;
        const auto tool = text_of(call, "tool");
        to.push_back(entry_of(moment_in_iso(text_of(call, "at")), "call " + std::to_string(count_of(call, "n")),
                              tool.empty() ? text_of(call, "method") + " " + text_of(call, "path") : tool,
                              text_of(call, "client"), end_in_sentence(call)));
    }
}

class sandbox_log {
public:
    sandbox_log(server_client& server, std::string sandbox) : server_(server), sandbox_(std::move(sandbox)) {}

    /// Prints what was not printed before, in the order of time.
    awaitable<> show_news()
    {
        std::vector<log_entry> all;
        const auto runs = co_await server_.ask_or_throw("GET", "/admin/runs");
        add_runs(all, rows_in(runs, "runs"), sandbox_);
        const auto jobs = co_await server_.ask_or_throw("GET", "/admin/jobs");
        add_jobs(all, rows_in(jobs, "jobs"), sandbox_);
        const auto ends = co_await server_.ask_or_throw("GET", "/admin/ends");
        add_ends(all, rows_in(ends, "ends"), sandbox_);
        const auto calls = co_await server_.ask_or_throw("GET", "/admin/audit?limit=1000&kind=call");
        add_calls(all, rows_in(calls, "records"), sandbox_);
        std::ranges::stable_sort(all, {}, &log_entry::at);
        for (const auto& each : all)
            if (printed_.insert(each.id).second) print_now(each.line);
    }

private:
    server_client& server_;
    std::string sandbox_;
    std::set<std::string> printed_;
};

awaitable<> show_if_news(std::shared_ptr<sandbox_log> log, std::string name)
{
    if (name == "runs" || name == "end" || name == "usage") co_await log->show_news();
}

awaitable<int> show_sandbox(server_client& server, std::string word, bool follow, server_place place)
{
    const auto where = co_await find_sandbox(server, std::move(word));
    if (where.id.empty()) throw std::runtime_error("nothing has run in the default sandbox yet");
    const auto log = std::make_shared<sandbox_log>(server, where.id);
    co_await log->show_news();
    if (!follow) co_return 0;
    const auto executor = co_await asio::this_coro::executor;
    server_client stream(executor, std::move(place));
    server_client::event_handler show = [log](std::string name, std::string) {
        return show_if_news(log, std::move(name));
    };
    co_await stream.events("/admin/events", std::move(show));
    co_return 0;
}

awaitable<int> logs_in(server_client& server, const logs_words& line)
{
    const auto jobs = co_await jobs_named(server, line.what);
    if (jobs.size() > 1) throw std::runtime_error("\"" + line.what + "\" names several jobs; give more of the id");
    int code = 0;
    if (jobs.size() == 1)
        code = co_await show_job(server, jobs.front(), line.follow);
    else
        code = co_await show_sandbox(server, line.what, line.follow, server.place());
    co_return code;
}

}  // namespace

int logs(const loaded_settings& loaded, const logs_words& line)
{
    return with_server(loaded.values, line.server, [&line](server_client& server) { return logs_in(server, line); });
}

}  // namespace cmcp::command
