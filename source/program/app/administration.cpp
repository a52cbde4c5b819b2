#include "app/administration.hpp"

#include "app/admin_rows.hpp"
#include "async/uncancelled.hpp"
#include "async/with_deadline.hpp"
#include "egress/egress_decisions.hpp"
#include "http/http_refusal.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "prebuilt/version.hpp"
#include "runs/sandbox_error.hpp"
#include "tools/tools.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <chrono>

namespace cmcp {

namespace {

using steady = std::chrono::steady_clock;

json::array upstreams_json(const std::vector<upstream_state>& states)
{
    json::array all;
    for (const auto& each : states)
        all.push_back(json::object{{"name", each.name},
                                   {"kind", each.kind},
                                   {"place", each.place},
                                   {"status", each.status},
                                   {"protocol", each.protocol},
                                   {"problem", each.problem},
                                   {"tools", each.tools},
                                   {"calls", each.calls}});
    return all;
}

// `hosts`: as list_sandboxes tells them; `approved`: those of them that an answer has allowed.
json::object describe_network(const sandbox_network& networks, const sandbox_record& of)
{
    const auto list = [](const std::vector<std::string>& places) { return json::array(places.begin(), places.end()); };
    const auto answers = networks.answers_of(of);
    const std::string_view mode = sandbox_network::asks_in(of) ? "ask" : of.network.empty() ? "none" : "hosts";
    return {{"mode", mode},
            {"hosts", list(sandbox_network::hosts_in(of))},
            {"approved", list(answers.for_sandbox)},
            {"approved_for_run", list(answers.for_runs)},
            {"refused", list(answers.refused)}};
}

const steady::time_point process_began = steady::now();

template <class T, class Row>
json::array newest_first(const recent<T>& kept, const admin_viewer& by, Row row_of)
{
    json::array rows;
    for (auto each = kept.entries().rbegin(); each != kept.entries().rend(); ++each)
        if (by.sees(each->principal)) rows.push_back(row_of(*each));
    return rows;
}

// The entries behind `seen`, which moves to the newest. Those that have fallen off are counted.
template <class T, class Row>
json::array newer(const recent<T>& kept, std::uint64_t& seen, const admin_viewer& by, std::uint64_t& dropped,
                  Row row_of)
{
    json::array rows;
    const auto count = kept.count_after(seen);
    if (by.everything) dropped += kept.last() - seen - count;
    for (auto at = kept.entries().end() - static_cast<std::ptrdiff_t>(count); at != kept.entries().end(); ++at)
        if (by.sees(at->principal)) rows.push_back(row_of(*at));
    seen = kept.last();
    return rows;
}

constexpr std::size_t rows_at_once = 100;  // in one step of the loop

sandbox_order order_of(std::string_view sort)
{
    return sort == "used" ? sandbox_order::used : sort == "disk" ? sandbox_order::disk : sandbox_order::id;
}

json::object list_of_sandboxes(json::array rows, std::size_t total, json::value next)
{
    return {{"sandboxes", std::move(rows)}, {"total", total}, {"next", std::move(next)}};
}

json::object describe_audit(const audit::writer_state& now)
{
    json::object about{{"folder", now.folder}, {"file", now.file}, {"key", now.key}};
    about["last"] = now.last.number;
    about["sealed"] = now.sealed.number;
    about["sealed_at"] = now.sealed_at == 0 ? json::value() : json::value(now.sealed_at);
    about["head"] = now.sealed.text();
    about["trouble"] = text_or_null(now.trouble);
    about["damage"] = text_or_null(now.damage);
    about["dropped"] = now.dropped;
    return about;
}

// The line before `end`, which is behind a newline; empty: there is none.
std::string_view line_before(std::string_view text, std::size_t end)
{
    if (end == 0) return {};
    const auto newline = text.substr(0, end - 1).rfind('\n');
    const auto begin = newline == std::string_view::npos ? 0 : newline + 1;
    return text.substr(begin, end - 1 - begin);
}

}  // namespace

administration::administration(parts of) : of_(std::move(of))
{
    if (!of_.all.jobs) return;
    of_.all.jobs->on_end([&history = of_.core.history()](const job_record& job, const tool_result& result) {
        history.note_end(job.owner, result, [&] {
            return noted_call{job.owner, job.tool, first_line(job.label), job.sandbox};
        });
        past_call past;
        past.seconds = sandbox_manager::now() - job.created;
        past.principal = job.owner;
        past.tool = job.tool;
        past.sandbox = job.sandbox;
        past.input = job.label;
        history.note_call(std::move(past), result);
    });
}

awaitable<administration::cells> administration::live_cells()
{
    cells live;
    live = co_await of_.all.sandboxes->cells().now();
    co_return live;
}

awaitable<json::object> administration::sandboxes(admin_viewer by, admin_page part)
{
    json::array rows;
    if (!of_.all.kernels) co_return list_of_sandboxes(std::move(rows), 0, nullptr);
    auto& store = of_.all.sandboxes->store();
    caller viewer;
    viewer.principal = by.principal;
    const sandbox_choice wanted{by.principal,
                                by.everything,
                                part.match,
                                part.after,
                                part.limit,
                                order_of(part.sort),
                                of_.all.sandboxes->homes().of(viewer)};
    const auto live = co_await live_cells();
    const auto records = store.choose(wanted);
    const auto kernels = of_.all.kernels->list();
    const auto shells = of_.all.shells->list(0);
    for (const auto& record : records) {
        auto row = row_of(record);
        row["kernels"] = std::ranges::count(kernels, record.id, &kernel_manager::view::sandbox);
        row["shells"] = std::ranges::count(shells, record.id, &shell_manager::summary::sandbox);
        json::array ports;
        const auto cell = live.find(record.id);
        row["memory_bytes"] = cell == live.end() ? json::value() : json::value(cell->second.memory);
        if (cell != live.end() && cell->second.processes != 0) {
            const auto listening = co_await of_.all.shown->listening(record);
            ports = json::array(listening.begin(), listening.end());
        }
        row["ports"] = std::move(ports);
        row["network"] = describe_network(of_.all.sandboxes->network(), record);
        row["place"] = wanted.cursor_of(record);
        rows.push_back(std::move(row));
        if (rows.size() % rows_at_once == 0) co_await asio::post(asio::use_awaitable);
    }
    json::value next;
    if (records.size() == part.limit) next = wanted.cursor_of(records.back());
    co_return list_of_sandboxes(std::move(rows), store.count(wanted), std::move(next));
}

json::object administration::jobs(const admin_viewer& by)
{
    constexpr std::size_t most = 1000;
    json::object answer;
    json::array& rows = answer["jobs"].emplace_array();
    for (const auto& record : of_.all.background->latest(by.principal, by.everything, most))
        rows.push_back(row_of(record));
    return answer;
}

json::object administration::ends(const admin_viewer& by)
{
    const auto row = [this](const bad_end& each) { return row_of(each, sandbox_id(each.principal, each.sandbox)); };
    return {{"ends", newest_first(of_.core.history().ends(), by, row)}};
}

// Inputs and outputs are for their owner alone.
json::object administration::calls(const admin_viewer& by, const std::string& sandbox)
{
    json::object answer;
    auto& rows = answer["calls"].emplace_array();
    if (!of_.all.kernels) return answer;
    const auto own_default = sandbox_id(by.principal, "default");
    const auto& past = of_.core.history().calls().entries();
    for (auto each = past.rbegin(); each != past.rend(); ++each) {
        if (each->principal != by.principal) continue;
        const auto id = each->sandbox.empty() ? own_default : sandbox_id(each->principal, each->sandbox);
        if (sandbox.empty() || id == sandbox) rows.push_back(row_of(*each, id));
    }
    return answer;
}

json::object administration::trends(const admin_viewer& by)
{
    return {{"trends", by.everything ? trends_.rows() : json::array()}};
}

awaitable<> administration::follow_trends()
{
    asio::steady_timer timer(co_await asio::this_coro::executor);
    for (;;) {
        std::uint64_t memory = trends_.memory();
        try {
            auto asking = live_cells();
            const auto live = co_await with_deadline(std::move(asking), trend_samples::between / 2);
            memory = memory_of(live);
        } catch (const deadline_exceeded&) {
            // The launcher's trouble is told by /healthz; the curve goes on at its last value.
        }
        const auto& history = of_.core.history();
        trends_.add({of_.all.admission->running(), of_.all.admission->waiting(), history.count(), history.ends().last(),
                     memory});
        timer.expires_after(trend_samples::between);
        co_await timer.async_wait(asio::use_awaitable);
    }
}

json::object administration::egress(const admin_viewer& by)
{
    const auto row = [](const egress_decision& each) { return row_of(each); };
    return {{"decisions", newest_first(egress_decisions(), by, row)}};
}

json::object administration::pull_image(const std::string& name)
{
    json::object answer{{"image", name}};
    if (image_choice::is_native(name)) throw http_refusal(400, "Name an image.", "InvalidArgument");
    try {
        const auto progress = of_.all.sandboxes->fetches().begin(name);
        answer["there"] = progress.empty();
        if (!progress.empty()) answer["progress"] = progress;
    } catch (const sandbox_error& refused) {
        throw http_refusal(refused.type == "NotFound" ? 404 : 400, refused.what(), refused.type);
    }
    return answer;
}

awaitable<json::object> administration::health()
{
    json::object answer;
    const auto problems = co_await of_.ready.problems();
    answer["status"] = problems.empty() ? "ok" : "unready";
    answer["problems"] = json::array(problems.begin(), problems.end());
    co_return answer;
}

awaitable<json::object> administration::layers(admin_viewer by)
{
    auto answer = co_await health();
    answer["version"] = CMCP_VERSION;
    answer["uptime_seconds"] = std::chrono::duration<double>(steady::now() - process_began).count();
    answer["layers"] = layers_json(of_.layers());
    if (by.everything) answer["upstreams"] = upstreams_json(of_.all.upstreams->states());
    co_return answer;
}

awaitable<json::object> administration::copy_sandbox(std::string id)
{
    const auto record = of_.all.kernels ? of_.all.sandboxes->store().find_of_any(id) : std::nullopt;
    if (!record) throw http_refusal(404, "There is no such sandbox.", "NotFound");
    std::string refusal;
    kernel_manager::kept_copy copy;
    try {
        auto work = of_.all.kernels->copy_aside(*record);
        copy = co_await uncancelled(std::move(work));
    } catch (const sandbox_error& reason) {
        refusal = reason.what();
    }
    if (!refusal.empty()) throw http_refusal(507, refusal, "SandboxError");
    json::object answer;
    answer["copy"] = copy.folder.string();
    answer["kept_kernels"] = copy.kept;
    answer["busy_kernels"] = copy.busy;
    co_return answer;
}

list_positions administration::now() const { return {of_.core.history().ends().last(), egress_decisions().last()}; }

admin_news administration::since(const admin_viewer& by, list_positions& place)
{
    admin_news news;
    const auto end = [this](const bad_end& each) { return row_of(each, sandbox_id(each.principal, each.sandbox)); };
    const auto decision = [](const egress_decision& each) { return row_of(each); };
    news.ends = newer(of_.core.history().ends(), place.ends, by, news.dropped, end);
    news.decisions = newer(egress_decisions(), place.decisions, by, news.dropped, decision);
    return news;
}

json::object administration::reload()
{
    if (!of_.reload) throw http_refusal(503, "This server cannot read its settings again.", "NotAvailable");
    return of_.reload();
}

json::object administration::audit(const admin_viewer& by, std::size_t most, std::string_view kind)
{
    if (of_.audit == nullptr) return {{"records", json::array()}, {"audit", nullptr}};
    json::array rows;
    const auto latest = of_.audit->latest();
    const auto wanted_kind = "\"kind\":" + jsonrpc::write_json(kind);
    const auto wanted_name = jsonrpc::write_json(by.principal);
    // To read all of a long text would hold the loop.
    const auto may_fit = [&](std::string_view line) {
        return (kind.empty() || line.find(wanted_kind) != std::string_view::npos) &&
               (by.everything || line.find(wanted_name) != std::string_view::npos);
    };
    auto end = latest.size();
    for (auto line = line_before(latest, end); !line.empty() && rows.size() < most; line = line_before(latest, end)) {
        end -= line.size() + 1;
        if (!may_fit(line)) continue;
        auto record = jsonrpc::read_object(line, 8);
        const bool is_own = by.everything || (record.contains("principal") && by.sees(view_of(record, "principal")));
        if (is_own && (kind.empty() || view_of(record, "kind") == kind)) rows.push_back(std::move(record));
    }
    json::object answer{{"records", std::move(rows)}, {"audit", nullptr}};
    if (by.everything) answer["audit"] = describe_audit(of_.audit->now());
    return answer;
}

}  // namespace cmcp
