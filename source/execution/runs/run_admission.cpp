#include "runs/run_admission.hpp"

#include "async/event.hpp"
#include "async/pause.hpp"
#include "config/execution_settings.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <thread>
#include <utility>

#include <unistd.h>

namespace cmcp {

constexpr std::string_view before_principal = "principal ";

namespace {

// Runs that may all use what they are allowed in half of the machine's memory; sparse ones are the rule, so at least
// two.
std::size_t fitting_in_memory(const execution_settings& config)
{
    const auto pages = static_cast<std::uint64_t>(std::max(0l, ::sysconf(_SC_PHYS_PAGES)));
    const auto half = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) / 2;
    return std::max<std::size_t>(2, half / std::max<std::uint64_t>(1, config.memory_limit));
}

}  // namespace

std::size_t runs_at_once(const execution_settings& config)
{
    const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
    return config.max_runs != 0 ? config.max_runs : std::min(4 * cores, fitting_in_memory(config));
}

std::size_t runs_of_a_cell(const execution_settings& config)
{
    constexpr std::size_t part = 4;
    return std::max<std::size_t>(2, runs_at_once(config) / part);
}

// Sessions share the slots of their principal. The default caller is everybody, so its sessions count.
std::string admission_key(const caller& who)
{
    const bool by_session = who.principal.empty() && !who.session.empty();
    return by_session ? "session " + who.session : std::string(before_principal) + who.principal;
}

// A run's part in the line: it waits, is granted, and makes room with its end. Its destructor takes it out of
// the line however the coroutine ends, also when its frame is destroyed.
struct run_admission::ticket {
    ticket(std::shared_ptr<state> of, std::string who, request_io* waits)
        : from(std::move(of)), caller(std::move(who)), io(waits)
    {
    }
    ticket(const ticket&) = delete;
    ticket& operator=(const ticket&) = delete;
    ~ticket();
    void report(std::size_t now);

    std::shared_ptr<state> from;
    std::string caller;
    request_io* io;  // only until it is granted
    std::size_t position = 0;
    event wake;
    bool granted = false;
};

struct run_admission::state {
    struct line {
        std::size_t running = 0;
        std::size_t share = 0;  // that may run at once
        std::deque<ticket*> waiting;
    };

    admission_limits limits;
    std::map<std::string, line> callers;
    std::deque<std::string> turns;  // callers that have someone waiting, whose turn is next in front
    std::size_t running = 0;
    std::size_t waiting = 0;
    std::chrono::steady_clock::time_point next_refusal;

    std::string why_it_waits() const
    {
        const auto count = [this](std::size_t many) {
            return std::to_string(many) + ' ' + limits.what + (many == 1 ? "" : "s");
        };
        return "Waiting for a slot: " + count(running) + " going on, " + count(waiting) + " waiting.";
    }

    bool may_run(const line& of) const { return running < limits.at_once && of.running < of.share; }
    bool share_used_up(const line& of) const
    {
        return of.waiting.size() >= std::max<std::size_t>(1, limits.waiting / 2);
    }
    bool may_start(const line& of) const { return of.waiting.empty() && may_run(of); }
    bool refuses(const line& of) const { return !may_start(of) && (waiting >= limits.waiting || share_used_up(of)); }

    line& line_of(const std::string& caller)
    {
        line& own = callers[caller];
        own.share = share_of(caller);
        return own;
    }

    // Calls that are refused at once and repeated at once, on hundreds of connections, would take the only thread from
    // all others. So refusals have a rate, beyond a few that come at once.
    std::chrono::milliseconds delay_of_refusal()
    {
        using std::chrono::milliseconds;
        constexpr milliseconds apart(5), longest(1000);
        constexpr int at_once = 64;
        const auto now = std::chrono::steady_clock::now();
        next_refusal = std::clamp(next_refusal + apart, now - at_once * apart, now + longest);
        return std::chrono::ceil<milliseconds>(std::max(next_refusal - now, decltype(next_refusal - now)::zero()));
    }

    std::size_t share_of(const std::string& caller) const
    {
        if (!limits.of_principal || !caller.starts_with(before_principal)) return limits.per_caller;
        const auto own = limits.of_principal(std::string_view(caller).substr(before_principal.size()));
        return own != 0 ? own : limits.per_caller;
    }

    void start(line& of, ticket& one)
    {
        ++of.running;
        ++running;
        one.granted = true;
    }

    void queue(line& of, ticket& one)
    {
        if (of.waiting.empty()) turns.push_back(one.caller);
        of.waiting.push_back(&one);
        ++waiting;
        report_positions();
    }

    // Callers take turns, so the first of each line go before all that are second.
    void report_positions()
    {
        std::size_t position = 0;
        for (std::size_t round = 0; limits.reports_positions && position < waiting; ++round)
            for (const auto& caller : turns)
                if (const auto& line = callers[caller].waiting; round < line.size()) line[round]->report(++position);
    }

    void forget(ticket& one)
    {
        line& of = callers[one.caller];
        if (std::erase(of.waiting, &one) != 0) {
            --waiting;
            if (of.waiting.empty()) std::erase(turns, one.caller);
            report_positions();
        }
        drop_if_idle(one.caller);
    }

    void leave(const std::string& caller)
    {
        --callers[caller].running;
        --running;
        drop_if_idle(caller);
        while (grant_one()) {
        }
        report_positions();
    }

    void drop_if_idle(const std::string& caller)
    {
        const auto own_line = callers.find(caller);
        if (own_line->second.running == 0 && own_line->second.waiting.empty()) callers.erase(own_line);
    }

    bool grant_one()
    {
        for (auto turn = turns.begin(); turn != turns.end(); ++turn) {
            line& of = callers[*turn];
            if (!may_run(of)) continue;
            grant(of, turn);
            return true;
        }
        return false;
    }

    void grant(line& of, std::deque<std::string>::iterator turn)
    {
        ticket& first = *of.waiting.front();
        of.waiting.pop_front();
        --waiting;
        start(of, first);
        first.report(0);
        first.wake.notify();
        std::string caller = std::move(*turn);
        turns.erase(turn);
        if (!of.waiting.empty()) turns.push_back(std::move(caller));
    }
};

void run_admission::ticket::report(std::size_t now)
{
    if (io != nullptr && now != position) io->queued(now);
    position = now;
}

run_admission::ticket::~ticket()
{
    if (granted)
        from->leave(caller);
    else
        from->forget(*this);
}

void run_admission::close::operator()(ticket* one) const { delete one; }

run_admission::run_admission(admission_limits limits) : state_(std::make_shared<state>())
{
    state_->limits = std::move(limits);
}

run_admission::~run_admission() = default;

awaitable<run_admission::slot> run_admission::enter(std::string caller, request_io* io)
{
    slot own(new ticket(state_, std::move(caller), io));
    state& all = *own->from;
    auto* line = &all.line_of(own->caller);
    if (all.refuses(*line)) {
        const auto delay = all.delay_of_refusal();
        if (delay.count() > 0) {
            co_await pause_for(delay);
            line = &all.line_of(own->caller);  // the other one may have ended with its last run
        }
    }
    if (all.may_start(*line)) {
        all.start(*line, *own);
        if (io != nullptr && all.limits.reports_positions) io->queued(0);
        co_return own;
    }
    if (all.refuses(*line)) co_return nullptr;
    all.queue(*line, *own);
    if (io != nullptr) {
        io->activity().waits = true;
        json::value data = json::string(all.why_it_waits());
        co_await io->log(log_severity::info, "admission", std::move(data));
    }
    while (!own->granted) co_await own->wake.wait();
    if (io != nullptr) io->activity().waits = false;
    co_return own;
}

run_admission::slot run_admission::enter_now(std::string caller)
{
    slot own(new ticket(state_, std::move(caller), nullptr));
    auto& line = state_->line_of(own->caller);
    if (!state_->may_start(line)) return nullptr;
    state_->start(line, *own);
    return own;
}

std::vector<run_admission::share> run_admission::shares() const
{
    constexpr std::string_view named = "principal ", nameless = "session ";
    std::vector<share> all;
    for (const auto& [key, line] : state_->callers) {
        const bool has_name = key.starts_with(named);
        if (!has_name && !key.starts_with(nameless)) continue;  // the server's own runs
        all.push_back({has_name ? key.substr(named.size()) : std::string(), line.running, line.waiting.size()});
    }
    return all;
}

bool run_admission::share_used_up(const std::string& caller) const
{
    const auto own_line = state_->callers.find(caller);
    return own_line != state_->callers.end() && state_->share_used_up(own_line->second);
}

std::size_t run_admission::most() const { return state_->limits.at_once; }
std::size_t run_admission::running() const { return state_->running; }
std::size_t run_admission::waiting() const { return state_->waiting; }

}  // namespace cmcp
