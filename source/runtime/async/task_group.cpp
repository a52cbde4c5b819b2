#include "async/task_group.hpp"

#include "async/event.hpp"
#include "log/log.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/intrusive/list.hpp>
#include <boost/system/system_error.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cmcp {

namespace {

void report(const std::string& name, const std::exception_ptr& failure)
{
    try {
        std::rethrow_exception(failure);
    } catch (const boost::system::system_error& e) {
        if (e.code() == asio::error::operation_aborted) return;
        log::error("task_failed", {{"task", name}, {"error", e.what()}});
    } catch (const std::exception& e) {
        log::error("task_failed", {{"task", name}, {"error", e.what()}});
    } catch (...) {
        log::error("task_failed", {{"task", name}, {"error", "unknown exception"}});
    }
}

}  // namespace

struct task_group::state {
    // The child's completion handler is copied about, so it holds a single pointer to this record.
    struct child : std::enable_shared_from_this<child>, boost::intrusive::list_base_hook<> {
        child(std::shared_ptr<state> group, std::string called, std::shared_ptr<canceller> shared)
            : in(std::move(group)), name(std::move(called)), ends(std::move(shared))
        {
            in->children.push_back(*this);
        }
        child(const child&) = delete;
        child& operator=(const child&) = delete;
        ~child() { in->ended(*this); }

        std::shared_ptr<state> in;
        std::string name;
        std::shared_ptr<canceller> ends;  // null: own
        canceller own;

        canceller& used() { return ends ? *ends : own; }
    };

    explicit state(asio::any_io_executor ex) : executor(std::move(ex)) {}

    asio::any_io_executor executor;
    boost::intrusive::list<child> children;
    event idle;

    void ended(child& one)
    {
        if (!one.is_linked()) return;
        children.erase(children.iterator_to(one));
        if (children.empty()) idle.notify();
    }

    // A copy, because a child that ends at its cancellation removes itself from the list.
    void cancel_all()
    {
        std::vector<std::shared_ptr<child>> running;
        for (auto& each : children)
            if (auto held = each.weak_from_this().lock()) running.push_back(std::move(held));
        for (const auto& each : running) each->used().cancel();
    }
};

task_group::task_group(asio::any_io_executor executor) : state_(std::make_shared<state>(std::move(executor))) {}

task_group::~task_group() { state_->cancel_all(); }

void task_group::spawn(std::string name, awaitable<> child, std::shared_ptr<canceller> ends)
{
    auto record = std::make_shared<state::child>(state_, std::move(name), std::move(ends));
    auto slot = record->used().slot();
    auto done = [record = std::move(record)](std::exception_ptr failure) {
        if (failure) report(record->name, failure);
        record->in->ended(*record);
    };
    asio::co_spawn(state_->executor, std::move(child), asio::bind_cancellation_slot(slot, std::move(done)));
}

void task_group::cancel_all() { state_->cancel_all(); }

std::size_t task_group::size() const { return state_->children.size(); }

awaitable<bool> task_group::wait_idle(std::chrono::milliseconds limit)
{
    auto state = state_;
    const auto until = event::clock::now() + limit;
    // A child may be spawned between the end of the last one and the wake-up.
    while (!state->children.empty()) {
        const bool notified = co_await state->idle.wait(until);
        if (!notified) break;
    }
    co_return state->children.empty();
}

}  // namespace cmcp
