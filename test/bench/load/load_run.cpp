#include "load/load_run.hpp"

#include <algorithm>

namespace cmcp::load {

using std::chrono::milliseconds;

namespace {

// Arrivals closer together than this start together, because a timer for each would cost more than the calls.
constexpr std::chrono::microseconds arrival_slack(200);

traffic& traffic_of_this_process()
{
    static traffic all;
    return all;
}

}  // namespace

load_run::load_run(asio::io_context& io, const load_options& options, server_list& all, load_result& into)
    : session_host(io.get_executor(), options, all, into.record, traffic_of_this_process()),
      result_(into),
      mix_(options.calls),
      phase_timer_(io),
      arrival_timer_(io),
      care_timer_(io),
      tick_timer_(io)
{
    make_sessions(options.idle, role::idle);
    make_sessions(options.slow, role::slow);
    make_sessions(options.sessions, role::calling);
    if (options.scenario)
        for (const auto& each : sessions_) ways_.emplace(each.get(), way_of_session{scenario_way(*options.scenario)});
    for (std::size_t i = 0; i < all.size() && !options.health.empty(); ++i)
        health_.push_back(std::make_unique<health_probe>(executor, options, all.way(i), counted, into.record));
}

void load_run::start(std::function<void(const load_run&)> tick)
{
    tick_ = std::move(tick);
    began_ = last_tick_ = clock::now();
    result_.at_start = look();
    opening_left_ = sessions_.size();
    every_second();
    look_after();
    open_more();
}

double load_run::phase_seconds() const { return std::chrono::duration<double>(clock::now() - began_).count(); }

double load_run::recent_seconds() const { return std::chrono::duration<double>(clock::now() - last_tick_).count(); }

std::string_view load_run::phase_name() const
{
    switch (phase_) {
        case phase::opening:
            return "opening";
        case phase::warm_up:
            return "warming up";
        case phase::load:
            return "load";
        case phase::drain:
            return "waiting for the last answers";
        case phase::over:
            break;
    }
    return "over";
}

std::optional<process_figures> load_run::look() const
{
    return options.pid == 0 ? std::nullopt : look_at_process(options.pid);
}

void load_run::after(asio::steady_timer& timer, std::chrono::nanoseconds time, void (load_run::*then)())
{
    timer.expires_after(time);
    timer.async_wait([this, then](boost::system::error_code error) {
        if (!error) (this->*then)();
    });
}

void load_run::opening_ended()
{
    result_.opening_seconds = phase_seconds();
    result_.when_open = look();
    phase_ = phase::warm_up;
    began_ = clock::now();
    if (options.warm_up.count() == 0)
        begin_measuring();
    else
        after(phase_timer_, options.warm_up, &load_run::begin_measuring);
    begin_load();
}

void load_run::begin_load()
{
    for (auto& each : health_) each->start();
    next_arrival_ = clock::now();
    for (auto& each : sessions_)
        if (each->ready() && each->kind() != role::idle) give(*each);
    if (options.is_open_loop()) arrivals();
}

void load_run::begin_measuring()
{
    result_.record.forget_calls();
    result_.iterations = {};
    result_.series.clear();
    counted = {};
    issued_ = 0;
    began_ = last_tick_ = clock::now();
    result_.before_load = look();
    phase_ = phase::load;
    after(phase_timer_, options.duration, &load_run::stop_issuing);
}

// Slow readers call again at once, because the rate does not include their calls.
void load_run::give(client_session& which)
{
    if (issuing() && goes_home(which)) return;
    if (which.kind() == role::slow) {
        if (issuing()) which.call(mix_.next(), clock::now());
        return;
    }
    if (!calls_left() && issuing() && !options.is_open_loop()) return stop_issuing();
    if (!options.is_open_loop() && issuing()) {
        ++issued_;
        return begin(which, mix_.next(), clock::now());
    }
    if (backlog_.empty()) return free_.push_back(&which);
    auto next = backlog_.front();
    backlog_.pop_front();
    begin(which, next.kind, next.due);
}

void load_run::free(client_session& which)
{
    servers.answered(which.server_number());
    last_answer_ = clock::now();
    if (!go_on(which)) give(which);
}

clock::duration load_run::interval()
{
    constexpr double slowest = 0.01;  // a ramp begins or ends at 0
    auto rate = options.rate;
    if (options.has_stages()) rate = options.scenario->rate_at(next_arrival_ - began_);
    auto mean = 1e9 / std::max(rate, slowest);
    if (options.poisson) mean = std::exponential_distribution<double>(1.0 / mean)(random_);
    return std::chrono::nanoseconds(static_cast<std::int64_t>(mean));
}

void load_run::arrivals()
{
    auto now = clock::now();
    while (next_arrival_ <= now && issuing() && calls_left()) {
        backlog_.push_back({mix_.next(), next_arrival_});
        ++issued_;
        next_arrival_ += interval();
    }
    hand_out();
    if (!issuing()) return;
    if (!calls_left()) return stop_issuing();
    after(arrival_timer_, std::max<std::chrono::nanoseconds>(next_arrival_ - clock::now(), arrival_slack),
          &load_run::arrivals);
}

void load_run::hand_out()
{
    while (!backlog_.empty() && !free_.empty()) {
        auto* which = free_.front();
        free_.pop_front();
        if (!which->ready()) continue;
        auto next = backlog_.front();
        backlog_.pop_front();
        begin(*which, next.kind, next.due);
    }
}

void load_run::stop_issuing()
{
    if (!issuing()) return;
    result_.seconds = phase_seconds();
    result_.in_time = result_.record.mark_in_time();
    phase_ = phase::drain;
    arrival_timer_.cancel();
    after(phase_timer_, options.drain, &load_run::finish);
}

void load_run::interrupt()
{
    result_.interrupted = true;
    if (issuing())
        stop_issuing();
    else
        finish();
}

// A test of a given number of calls lasts until the last answer. A test of a given time leaves out late answers.
void load_run::count_to_the_last()
{
    if (calls_left() || last_answer_ < began_) return;
    result_.seconds = std::chrono::duration<double>(last_answer_ - began_).count();
    result_.in_time = result_.record.mark_in_time();
}

// Calls that were due and have no answer by now count as failures, because leaving them out would hide a slow server.
void load_run::finish()
{
    if (phase_ == phase::over) return;
    for (const auto& each : backlog_) {
        if (options.scenario) ++result_.iterations.started, result_.iterations.errors.add({"not sent by the end", {}});
        ++result_.record.calls[each.kind].started;
        result_.record.calls[each.kind].errors.add({"not sent by the end", {}});
    }
    for (const auto& [session, of] : ways_)
        if (of.on_its_way) result_.iterations.errors.add({"no answer by the end", {}});
    for (auto& each : sessions_) {
        each->give_up("no answer by the end");
        if (each->ready() && each->kind() == role::idle) ++result_.idle_open;
    }
    count_to_the_last();
    result_.record.bytes_in = counted.in;
    result_.record.bytes_out = counted.out;
    result_.at_end = look();
    phase_ = phase::over;
    for (auto& each : health_) each->stop();
    for (auto* timer : {&phase_timer_, &arrival_timer_, &care_timer_, &tick_timer_}) timer->cancel();
    static_cast<asio::io_context&>(phase_timer_.get_executor().context()).stop();
}

void load_run::note_second()
{
    if (phase_ != phase::load || phase_seconds() < 0.5) return;
    const auto& recent = result_.record.recent;
    second_figures figures{recent_seconds(),
                           recent.succeeded,
                           recent.failed,
                           recent.latency.percentile(50),
                           recent.latency.percentile(99),
                           {}};
    for (const auto& [kind, times] : recent.by_call) figures.calls[kind] = times.percentile(50);
    result_.series.push_back(std::move(figures));
}

void load_run::every_second()
{
    if (tick_) tick_(*this);
    note_second();
    result_.record.recent = {};
    last_tick_ = clock::now();
    after(tick_timer_, std::chrono::seconds(1), &load_run::every_second);
}

}  // namespace cmcp::load
