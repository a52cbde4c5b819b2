#include "sandboxes/sandbox_services.hpp"

#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "log/log.hpp"
#include "text/utf8_text.hpp"

#include <boost/system/system_error.hpp>

#include <algorithm>
#include <cctype>
#include <limits>

namespace cmcp {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t most_services = 16, longest_name = 64, longest_command = 16 * 1024;
constexpr std::size_t longest_piece = 4096;
constexpr std::uint64_t kept_output = 1 << 20;  // bytes
constexpr std::chrono::hours longest_life(24 * 3650);
constexpr auto shortest_pause = 1s, longest_pause = 60s;
constexpr auto steady = 10s;  // one that lived so long starts again at once
constexpr auto patience_with_start = 20s;
constexpr auto ending_limit = 5s;

bool is_name(std::string_view name)
{
    const auto is_plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-'; };
    return !name.empty() && name.size() <= longest_name && name.front() != '.' && name.front() != '-' &&
           std::ranges::all_of(name, is_plain);
}

void check(const sandbox_service& wanted)
{
    if (!is_name(wanted.name))
        throw sandbox_error("InvalidArgument",
                            "service is a name of 1 to 64 letters, digits, '.', '_' or '-', for example postgresql.");
    if (wanted.command.empty() || wanted.command.size() > longest_command ||
        wanted.command.find('\0') != std::string::npos)
        throw sandbox_error("InvalidArgument",
                            "The command of a service has 1 to 16384 bytes; put more into a script, and name that.");
}

std::string how_ended(const sandbox::run_result& end)
{
    if (!end.error.empty()) return end.error;
    if (end.why != sandbox::cause::exited) return "It ended (" + std::string(to_string(end.why)) + ").";
    return "It ended with exit code " + std::to_string(end.exit_code) + ".";
}

// What programs print, as lines where they print lines.
class line_receiver final : public sandbox::output_receiver {
public:
    /// `io` may be null from some moment on: nobody reads it any more.
    explicit line_receiver(std::shared_ptr<request_io*> io) : io_(std::move(io)) {}

    awaitable<> receive(sandbox::stream, std::string_view bytes) override
    {
        held_ += bytes;
        const auto end = held_.rfind('\n');
        const auto size = held_.size() > longest_piece ? held_.size() : end == std::string::npos ? 0 : end + 1;
        co_await pass(size);
    }
    awaitable<> finish() { return pass(held_.size()); }

private:
    awaitable<> pass(std::size_t size)
    {
        if (size == 0) co_return;
        std::vector<output_text> texts;
        texts.push_back({output_stream::out, passed_, replace_invalid_utf8(held_.substr(0, size))});
        passed_ += size;
        held_.erase(0, size);
        if (*io_ != nullptr) co_await (*io_)->output(0, std::move(texts));
    }

    std::shared_ptr<request_io*> io_;
    std::string held_;
    std::uint64_t passed_ = 0;
};

}  // namespace

std::vector<sandbox_service> services_in(const sandbox_record& record)
{
    std::vector<sandbox_service> all;
    if (record.services.empty()) return all;
    for (const auto& [name, value] : jsonrpc::read_object(record.services)) {
        if (!value.is_object()) continue;
        sandbox_service one{name, text_of(value.get_object(), "command"), text_of(value.get_object(), "job")};
        if (is_name(one.name) && !one.command.empty()) all.push_back(std::move(one));
    }
    return all;
}

std::string services_text(const std::vector<sandbox_service>& all)
{
    json::object text;
    for (const auto& each : all) text[each.name] = json::object{{"command", each.command}, {"job", each.job}};
    return text.empty() ? std::string() : jsonrpc::write_json(text);
}

/// A service of a sandbox that runs, or is to.
struct sandbox_services::live {
    key of;
    bool begun = false;     // its job has
    bool runs = false;      // its program does
    bool stopping = false;  // with its sandbox
    bool ended = false;
    std::shared_ptr<request_io*> io = std::make_shared<request_io*>(nullptr);  // the job's, while that lasts
    std::uint64_t restarts = 0;
    std::optional<int> exit_code;
    event::clock::time_point started{};
    std::optional<sandbox::run_result> result;  // of the program that ran last
    std::shared_ptr<canceller> ends;            // that program
    event changed;
};

sandbox_services::sandbox_services(asio::any_io_executor executor, sandbox::backend& cells, sandbox_runner& runs,
                                   job_manager& jobs)
    : executor_(executor), cells_(cells), runs_(runs), jobs_(jobs), tasks_(executor)
{
    auto& sandboxes = runs_.sandboxes();
    sandboxes.on_use([this](const sandbox_record& where) { start_missing(where); });
    sandboxes.on_stop([this](std::string id) { return end(std::move(id)); });
    sandboxes.comes_up_by([this](const std::string& id) { return come_up(id); });
    jobs_.on_kill([this](const job_record& killed) { forget(killed.sandbox, killed.id); });
}

void sandbox_services::keep(const std::string& id, const std::vector<sandbox_service>& all)
{
    runs_.sandboxes().store().set_services(id, services_text(all));
}

awaitable<job_view> sandbox_services::declare(caller who, sandbox_record where, sandbox_service wanted,
                                              std::string request)
{
    check(wanted);
    if (runs_.sandboxes().cells().name_of(where).empty())
        throw sandbox_error("NotAvailable",
                            "Runs of this sandbox share no processes (Firejail, or a container without a /proc of its "
                            "own), so it has no services.");
    auto all = services_in(where);
    const auto before = std::ranges::find(all, wanted.name, &sandbox_service::name);
    if (before == all.end() && all.size() >= most_services)
        throw sandbox_error("QuotaExceeded", "A sandbox has at most " + std::to_string(most_services) +
                                                 " services; end one by job_kill with its job_id (list_sandboxes).");
    if (before != all.end()) all.erase(before);
    where.services = services_text(all);
    all.push_back(wanted);
    keep(where.id, all);
    if (const auto old = live_.find({where.id, wanted.name}); old != live_.end()) co_await end_one(old->second);
    const auto used = runs_.sandboxes().enter(where);
    const auto one = make_live(where.id, wanted.name);
    auto view = co_await begin(one, std::move(who), std::move(where), std::move(wanted), std::move(request));
    co_return view;
}

std::shared_ptr<sandbox_services::live> sandbox_services::make_live(const std::string& sandbox, const std::string& name)
{
    auto one = std::make_shared<live>();
    one->of = {sandbox, name};
    one->started = event::clock::now();
    live_[one->of] = one;
    return one;
}

void sandbox_services::remove(const std::shared_ptr<live>& one)
{
    const auto known = live_.find(one->of);
    if (known != live_.end() && known->second == one) live_.erase(known);
}

awaitable<job_view> sandbox_services::begin(std::shared_ptr<live> one, caller who, sandbox_record where,
                                            sandbox_service what, std::string request)
{
    const auto [id, name] = one->of;
    new_job job{id, "execute_terminal_command", what.name + ": " + what.command, std::move(request), kept_output};
    job_manager::work work = [this, one, where = std::move(where), what = std::move(what)](request_io& io) {
        return serve(one, where, what, io);
    };
    job_view view;
    try {
        view = co_await jobs_.start(std::move(who), std::move(job), std::move(work));
    } catch (const sandbox_error&) {
        remove(one);
        throw;
    }
    const auto now = runs_.sandboxes().store().find_of_any(id);
    auto all = now ? services_in(*now) : std::vector<sandbox_service>();
    for (auto& each : all)
        if (each.name == name) each.job = view.record.id;
    if (now) keep(id, all);
    co_return view;
}

void sandbox_services::start_missing(const sandbox_record& where)
{
    for (auto& each : services_in(where)) {
        if (live_.contains({where.id, each.name})) continue;
        const auto one = make_live(where.id, each.name);
        tasks_.spawn("start a service", start_again(one, where, std::move(each)));
    }
}

awaitable<> sandbox_services::start_again(std::shared_ptr<live> one, sandbox_record where, sandbox_service what)
{
    caller owner;
    owner.principal = where.owner;
    const auto [id, name] = one->of;
    std::string problem, request;
    try {
        co_await begin(one, std::move(owner), std::move(where), std::move(what), std::move(request));
    } catch (const sandbox_error& refused) {
        problem = refused.what();
    }
    if (problem.empty()) co_return;
    log::warning("service_not_started", {{"sandbox", id}, {"service", name}, {"reason", json::string(problem)}});
    runs_.sandboxes().cells().tell_beside(id, "The service " + name + " was not started: " + problem);
}

// The frame lives as long as the job, and so does `io`.
awaitable<tool_result> sandbox_services::serve(std::shared_ptr<live> one, sandbox_record where, sandbox_service what,
                                               request_io& io)
{
    io.queued(0);
    one->begun = true;
    *one->io = &io;
    struct leave {
        sandbox_services& in;
        std::shared_ptr<live> one;
        ~leave()
        {
            *one->io = nullptr;
            one->ended = true;
            one->runs = false;
            if (one->ends) one->ends->cancel();
            in.remove(one);
            one->changed.notify();
        }
    } at_end{*this, one};
    std::chrono::seconds pause = shortest_pause;
    while (!one->stopping) {
        const auto began = event::clock::now();
        const auto end = co_await run_once(one, where, what.command);
        if (one->stopping) break;
        one->exit_code = end.exit_code;
        ++one->restarts;
        pause = event::clock::now() - began >= steady ? shortest_pause : pause;
        json::string sentence(how_ended(end) + " It starts again in " + std::to_string(pause.count()) + " s.");
        co_await io.log(log_severity::warning, "service", std::move(sentence));
        co_await wait_before_restart(one, pause);
        pause = std::min<std::chrono::seconds>(2 * pause, longest_pause);
    }
    tool_result result;
    result.structured = {{"success", true},
                         {"message", "Its sandbox does not run any more. The service starts again with the next use."}};
    co_return result;
}

// The programs of a sandbox that is being stopped end before anybody says so here.
awaitable<> sandbox_services::wait_before_restart(std::shared_ptr<live> one, std::chrono::seconds pause)
{
    auto until = event::clock::now() + pause;
    while (!one->stopping) {
        const bool has_changed = co_await one->changed.wait(until);
        if (has_changed) continue;
        if (!runs_.sandboxes().is_ending(one->of.first)) co_return;
        until = event::clock::now() + shortest_pause;
    }
}

awaitable<sandbox::run_result> sandbox_services::run_once(std::shared_ptr<live> one, sandbox_record where,
                                                          std::string command)
{
    sandbox::run_result failed;
    failed.why = sandbox::cause::setup_failed;
    try {
        co_await runs_.sandboxes().admit_run(where);
        auto request = runs_.service(where, std::move(command));
        request.limits.wall = longest_life;
        request.limits.output = std::numeric_limits<std::uint64_t>::max();
        one->result.reset();
        one->runs = true;
        one->started = event::clock::now();
        one->ends = std::make_shared<canceller>();
        tasks_.spawn("service", run(one, std::move(request)), one->ends);
    } catch (const sandbox_error& refused) {
        failed.error = refused.what();
        co_return failed;
    }
    while (!one->result) co_await one->changed.wait();
    co_return std::move(*one->result);
}

awaitable<> sandbox_services::run(std::shared_ptr<live> one, sandbox::run_request request)
{
    line_receiver to(one->io);
    sandbox::run_result ended;
    bool is_cancelled = false;
    try {
        ended = co_await cells_.run(std::move(request), to);
        co_await to.finish();
    } catch (const boost::system::system_error& failure) {
        is_cancelled = failure.code() == asio::error::operation_aborted;
        if (!is_cancelled) ended.error = failure.what();
    }
    if (is_cancelled) ended.why = sandbox::cause::cancelled;
    one->runs = false;
    one->result = std::move(ended);
    one->changed.notify();
}

awaitable<> sandbox_services::end_one(std::shared_ptr<live> one)
{
    one->stopping = true;
    if (one->ends) one->ends->cancel();
    one->changed.notify();
    const auto until = event::clock::now() + ending_limit;
    bool in_time = true;
    while (in_time && one->begun && !one->ended) in_time = co_await one->changed.wait(until);
}

awaitable<> sandbox_services::end(std::string id)
{
    std::vector<std::shared_ptr<live>> all;
    for (const auto& [of, one] : live_)
        if (of.first == id) all.push_back(one);
    for (const auto& one : all) co_await end_one(one);
}

void sandbox_services::forget(const std::string& sandbox, const std::string& job)
{
    const auto where = sandbox.empty() ? std::nullopt : runs_.sandboxes().store().find_of_any(sandbox);
    if (!where || where->services.empty()) return;
    auto all = services_in(*where);
    if (std::erase_if(all, [&](const sandbox_service& each) { return each.job == job; }) != 0) keep(sandbox, all);
}

bool sandbox_services::come_up(const std::string& id) const
{
    const auto since = event::clock::now() - patience_with_start;
    return std::ranges::any_of(live_, [&](const auto& entry) {
        return entry.first.first == id && !entry.second->stopping && entry.second->started > since;
    });
}

json::array sandbox_services::described(const sandbox_record& where) const
{
    json::array rows;
    for (const auto& each : services_in(where)) {
        json::object row{{"name", each.name}, {"command", each.command}, {"state", "stopped"}, {"job_id", each.job}};
        if (const auto known = live_.find({where.id, each.name}); known != live_.end()) {
            const auto& one = *known->second;
            row["state"] = one.runs ? "running" : "starting";
            row["restarts"] = one.restarts;
            if (one.exit_code) row["exit_code"] = *one.exit_code;
        }
        rows.push_back(std::move(row));
    }
    return rows;
}

awaitable<> sandbox_services::stop()
{
    tasks_.cancel_all();
    co_await tasks_.wait_idle(ending_limit);
}

}  // namespace cmcp
