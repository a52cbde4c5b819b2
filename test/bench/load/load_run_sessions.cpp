#include "load/load_run.hpp"

#include <algorithm>

namespace cmcp::load {

namespace {

constexpr std::chrono::milliseconds care_interval(100);

// The GET stream of an idle client is an answer, but a stateless client that calls is ready before it has asked.
bool shows_server(const client_session& opened, transport over)
{
    return over != transport::stateless || opened.kind() == role::idle;
}

// An HTTP answer comes from a server that is there, though it may have forgotten the session.
bool tells_of_lost_server(const failure& why) { return !why.kind.starts_with("HTTP "); }

}  // namespace

void load_run::make_sessions(std::size_t count, role kind)
{
    for (std::size_t i = 0; i < count; ++i) sessions_.push_back(make_session(*this, kind, i % servers.size()));
}

void load_run::open_more()
{
    while (phase_ == phase::opening && opening_ < options.opening && next_to_open_ < sessions_.size()) {
        ++opening_;
        auto& next = *sessions_[next_to_open_++];
        next.go_to(servers.choose(next.home(), clock::now()));
        next.open();
    }
    if (phase_ == phase::opening && opening_left_ == 0) opening_ended();
}

void load_run::opened(client_session& which)
{
    if (shows_server(which, options.transport)) servers.answered(which.server_number());
    if (phase_ == phase::opening) {
        ++result_.opened;
        result_.revision = which.revision();
        --opening_;
        --opening_left_;
        // The timer leaves the session's callback first, because the next sessions may open at once and recurse.
        return after(phase_timer_, std::chrono::milliseconds(0), &load_run::open_more);
    }
    if (which.kind() == role::idle || go_on(which)) return;
    if (issuing()) give(which);
}

void load_run::failed_to_open(client_session& which, const failure& why)
{
    result_.record.opening_errors.add(why);
    result_.record.by_address[which.server_number()].opening_errors.add(why);
    servers.failed(which.server_number(), clock::now());
    if (phase_ != phase::opening || servers.size() > 1) move_on(which);
    if (phase_ != phase::opening) return;
    --opening_;
    --opening_left_;
    after(phase_timer_, std::chrono::milliseconds(0), &load_run::open_more);
}

void load_run::lost(client_session& which, const failure& why)
{
    if (const auto entry = ways_.find(&which); entry != ways_.end() && entry->second.on_its_way)
        entry->second.way.done(false), entry->second.called = false;
    if (tells_of_lost_server(why)) servers.failed(which.server_number(), clock::now());
    if (which.kind() == role::idle) ++result_.record.lost_streams;
    if (which.kind() == role::idle && servers.size() == 1) return;
    std::erase(free_, &which);
    move_on(which);
}

// The session is opened at the next look, so a client waits a moment after each failure.
void load_run::move_on(client_session& which)
{
    which.go_to(servers.choose(which.home(), clock::now()));
    to_reopen_.push_back(&which);
}

// A client that uses another server than its own goes back between two calls. The look opens it, because a session must
// not open in its own callback.
bool load_run::goes_home(client_session& which)
{
    if (which.server_number() == which.home() || !servers.claim(which.home(), clock::now())) return false;
    which.leave();
    which.go_to(which.home());
    to_reopen_.push_back(&which);
    return true;
}

void load_run::reopen_some()
{
    for (auto left = std::min(to_reopen_.size(), options.opening); left != 0; --left) {
        auto* next = to_reopen_.front();
        to_reopen_.pop_front();
        next->open();
    }
}

// Ends overdue calls and reopens lost sessions, a bounded number at each interval.
void load_run::look_after()
{
    auto now = clock::now();
    for (auto& each : sessions_) each->check_time(now);
    if (issuing()) reopen_some();
    if (phase_ != phase::over) after(care_timer_, care_interval, &load_run::look_after);
    auto busy = [](const auto& each) { return each->busy() && each->kind() == role::calling; };
    if (phase_ == phase::drain && backlog_.empty() && std::none_of(sessions_.begin(), sessions_.end(), busy)) finish();
}

}  // namespace cmcp::load
