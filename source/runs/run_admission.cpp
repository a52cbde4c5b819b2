#include "runs/run_admission.hpp"

#include "async/event.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

namespace cmcp {

// Sessions share the places of their principal. The default caller is everybody, so its sessions count.
std::string admission_key(const caller& who)
{
    const bool by_session = who.principal.empty() && !who.session.empty();
    return by_session ? "session " + who.session : "principal " + who.principal;
}
namespace {

// A coroutine that waits.
struct waiter {
    event wake;
    bool granted = false;
};

struct line {
    std::size_t running = 0;
    std::deque<waiter*> waiting;
};

}  // namespace

struct run_admission::state {
    admission_limits limits;
    std::map<std::string, line> callers;
    std::deque<std::string> turns;  // callers that have someone waiting, whose turn is next in front
    std::size_t running = 0;
    std::size_t waiting = 0;

    std::string why_it_waits() const
    {
        const auto count = [this](std::size_t many) {
            return std::to_string(many) + ' ' + limits.what + (many == 1 ? "" : "s");
        };
        return "Waiting for a place: " + count(running) + " going on, " + count(waiting) + " waiting.";
    }

    bool may_run(const line& of) const { return running < limits.at_once && of.running < limits.per_caller; }
    bool may_wait(const line& of) const
    {
        return waiting < limits.waiting && of.waiting.size() < std::max<std::size_t>(1, limits.waiting / 2);
    }

    void start(line& of)
    {
        ++of.running;
        ++running;
    }

    void queue(const std::string& caller, waiter& one)
    {
        line& of = callers[caller];
        if (of.waiting.empty()) turns.push_back(caller);
        of.waiting.push_back(&one);
        ++waiting;
    }

    void forget(const std::string& caller, waiter& one)
    {
        line& of = callers[caller];
        of.waiting.erase(std::find(of.waiting.begin(), of.waiting.end(), &one));
        --waiting;
        if (of.waiting.empty()) turns.erase(std::find(turns.begin(), turns.end(), caller));
        drop_if_idle(caller);
    }

    void leave(const std::string& caller)
    {
        --callers[caller].running;
        --running;
        drop_if_idle(caller);
        while (grant_one()) {
        }
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
        waiter& first = *of.waiting.front();
        of.waiting.pop_front();
        --waiting;
        start(of);
        first.granted = true;
        first.wake.notify();
        std::string caller = std::move(*turn);
        turns.erase(turn);
        if (!of.waiting.empty()) turns.push_back(std::move(caller));
    }
};

namespace {

// Takes the waiter out of the line however the coroutine ends, also when its frame is destroyed.
template <class State>
struct in_line {
    in_line(std::shared_ptr<State> of, std::string who, waiter& one)
        : from(std::move(of)), caller(std::move(who)), self(one)
    {
        from->queue(caller, self);
    }
    in_line(const in_line&) = delete;
    in_line& operator=(const in_line&) = delete;
    ~in_line()
    {
        if (!self.granted) from->forget(caller, self);
        if (self.granted && !taken) from->leave(caller);
    }

    std::shared_ptr<State> from;
    std::string caller;
    waiter& self;
    bool taken = false;
};

}  // namespace

run_admission::place::place(std::shared_ptr<state> from, std::string caller)
    : from_(std::move(from)), caller_(std::move(caller))
{
}

run_admission::place::~place()
{
    if (from_) from_->leave(caller_);
}

run_admission::run_admission(admission_limits limits) : state_(std::make_shared<state>()) { state_->limits = limits; }

run_admission::~run_admission() = default;

awaitable<std::optional<run_admission::place>> run_admission::enter(std::string caller, request_io* io)
{
    const std::shared_ptr<state> shared = state_;
    {
        line& of = shared->callers[caller];
        if (of.waiting.empty() && shared->may_run(of)) {
            shared->start(of);
            co_return place(shared, std::move(caller));
        }
        if (!shared->may_wait(of)) {
            shared->drop_if_idle(caller);
            co_return std::nullopt;
        }
    }
    waiter self;
    in_line<state> entry(shared, caller, self);
    if (io != nullptr) {
        json::value data = json::string(shared->why_it_waits());
        co_await io->log(log_severity::info, "admission", std::move(data));
    }
    while (!self.granted) co_await self.wake.wait();
    entry.taken = true;
    co_return place(shared, std::move(caller));
}

std::size_t run_admission::running() const { return state_->running; }
std::size_t run_admission::waiting() const { return state_->waiting; }

}  // namespace cmcp
