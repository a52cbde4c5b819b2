#include "load/load_run.hpp"

#include <algorithm>

namespace cmcp::load {

using std::chrono::milliseconds;

namespace {

constexpr milliseconds care_interval(100);

// Arrivals closer together than this start together, because a timer for each would cost more than the calls.
constexpr std::chrono::microseconds arrival_slack(200);

traffic& traffic_of_this_process()
{
    static traffic all;
    return all;
}

}  // namespace

load_run::load_run(asio::io_context& io, const load_options& options, route& by, load_result& into)
    : session_host(io.get_executor(), options, by, into.record, traffic_of_this_process()),
      result_(into),
      mix_(options.calls),
      phase_timer_(io),
      arrival_timer_(io),
      care_timer_(io),
      tick_timer_(io)
{
    for (std::size_t i = 0; i < options.idle; ++i) sessions_.push_back(make_session(*this, role::idle));
    for (std::size_t i = 0; i < options.slow; ++i) sessions_.push_back(make_session(*this, role::slow));
    for (std::size_t i = 0; i < options.sessions; ++i) sessions_.push_back(make_session(*this, role::calling));
    if (!options.health.empty()) health_ = std::make_unique<health_probe>(executor, options, by, counted, into.record);
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

void load_run::open_more()
{
    while (phase_ == phase::opening && opening_ < options.opening && next_to_open_ < sessions_.size()) {
        ++opening_;
        sessions_[next_to_open_++]->open();
    }
    if (phase_ == phase::opening && opening_left_ == 0) opening_ended();
}

void load_run::opened(client_session& which)
{
    if (phase_ == phase::opening) {
        ++result_.opened;
        result_.revision = which.revision();
        --opening_;
        --opening_left_;
        // The timer leaves the session's callback first, because the next sessions may open at once and recurse.
        return after(phase_timer_, milliseconds(0), &load_run::open_more);
    }
    if (issuing() && which.part() != role::idle) give(which);
}

void load_run::failed_to_open(client_session& which, const failure& why)
{
    result_.record.opening_errors.add(why);
    if (phase_ != phase::opening) return to_reopen_.push_back(&which);
    --opening_;
    --opening_left_;
    after(phase_timer_, milliseconds(0), &load_run::open_more);
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
    if (health_) health_->start();
    next_arrival_ = clock::now();
    for (auto& each : sessions_)
        if (each->ready() && each->part() != role::idle) give(*each);
    if (options.rate > 0) arrivals();
}

void load_run::begin_measuring()
{
    result_.record.forget_calls();
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
    if (which.part() == role::slow) {
        if (issuing()) which.call(mix_.next(), clock::now());
        return;
    }
    if (!calls_left() && issuing() && options.rate <= 0) return stop_issuing();
    if (options.rate <= 0 && issuing()) {
        ++issued_;
        return which.call(mix_.next(), clock::now());
    }
    if (backlog_.empty()) return free_.push_back(&which);
    auto next = backlog_.front();
    backlog_.pop_front();
    which.call(next.kind, next.due);
}

void load_run::free(client_session& which)
{
    last_answer_ = clock::now();
    give(which);
}

clock::duration load_run::interval()
{
    auto mean = 1e9 / options.rate;
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
        which->call(next.kind, next.due);
    }
}

void load_run::lost(client_session& which)
{
    if (which.part() == role::idle) {
        ++result_.record.lost_streams;
        return;
    }
    std::erase(free_, &which);
    to_reopen_.push_back(&which);
}

// Ends overdue calls and reopens lost sessions, a bounded number at each interval.
void load_run::look_after()
{
    auto now = clock::now();
    for (auto& each : sessions_) each->check_time(now);
    for (auto left = std::min(to_reopen_.size(), options.opening); left != 0 && phase_ != phase::drain; --left) {
        auto* next = to_reopen_.front();
        to_reopen_.pop_front();
        next->open();
    }
    if (phase_ != phase::over) after(care_timer_, care_interval, &load_run::look_after);
    auto busy = [](const auto& each) { return each->busy() && each->part() == role::calling; };
    if (phase_ == phase::drain && backlog_.empty() && std::none_of(sessions_.begin(), sessions_.end(), busy)) finish();
}

void load_run::stop_issuing()
{
    if (!issuing()) return;
    result_.seconds = phase_seconds();
    for (const auto& each : result_.record.calls) result_.in_time += each.succeeded;
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
    result_.in_time = 0;
    for (const auto& each : result_.record.calls) result_.in_time += each.succeeded;
}

// Calls that were due and have no answer by now count as failures, because leaving them out would hide a slow server.
void load_run::finish()
{
    if (phase_ == phase::over) return;
    for (const auto& each : backlog_) {
        ++result_.record.calls[each.kind].started;
        result_.record.calls[each.kind].errors.add({"not sent by the end", {}});
    }
    for (auto& each : sessions_) {
        each->give_up("no answer by the end");
        if (each->ready() && each->part() == role::idle) ++result_.idle_open;
    }
    count_to_the_last();
    result_.record.bytes_in = counted.in;
    result_.record.bytes_out = counted.out;
    result_.at_end = look();
    phase_ = phase::over;
    if (health_) health_->stop();
    for (auto* timer : {&phase_timer_, &arrival_timer_, &care_timer_, &tick_timer_}) timer->cancel();
    static_cast<asio::io_context&>(phase_timer_.get_executor().context()).stop();
}

void load_run::every_second()
{
    if (tick_) tick_(*this);
    result_.record.recent = {};
    last_tick_ = clock::now();
    after(tick_timer_, std::chrono::seconds(1), &load_run::every_second);
}

}  // namespace cmcp::load
