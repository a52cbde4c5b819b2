#include "mcp/tasks/task_call.hpp"

#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

namespace cmcp {

task_call::task_call(const task_view& tasks, job_record description, std::shared_ptr<running_request> work)
    : tasks_(tasks), description_(std::move(description)), work_(std::move(work))
{
}

job& task_call::become(std::string_view message)
{
    if (!task_) {
        if (work_->facts.sandbox.starts_with("sbx_")) description_.sandbox = work_->facts.sandbox;
        task_ = tasks_.add(description_, work_);
        work_->task = task_->record().id;
        changed_.notify();
    }
    task_->say(message);
    return *task_;
}

void task_call::become_if_room()
{
    try {
        become("still running");
    } catch (const rpc_error&) {
        // The call stays an ordinary one, as for a caller that takes no tasks.
    }
}

awaitable<> task_call::wait(std::chrono::milliseconds patience)
{
    auto limit = patience.count() > 0 ? event::clock::now() + patience : event::clock::time_point::max();
    bool cancelled = false;
    try {
        while (!settled()) {
            const bool notified = co_await changed_.wait(limit);
            if (notified || settled()) continue;
            become_if_room();
            limit = event::clock::time_point::max();
        }
    } catch (const boost::system::system_error&) {
        cancelled = true;
    }
    if (!cancelled) co_return;
    // A cancelled coroutine may not await anything.
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    co_await give_up();
    throw boost::system::system_error(asio::error::operation_aborted);
}

awaitable<> task_call::give_up()
{
    work_->cancel();
    if (task_) jobs().drop(*task_);
    while (!over_) co_await changed_.wait();
}

void task_call::end(outcome done)
{
    over_ = true;
    if (task_)
        end_task(std::move(done));
    else
        ending_ = std::move(done);
    changed_.notify();
}

void task_call::end_task(outcome done)
{
    if (done.result)
        jobs().finish(*task_, std::move(*done.result));
    else if (done.error)
        jobs().fail(*task_, *done.error);
    else
        jobs().end(*task_);
}

awaitable<> task_call::carry_out(std::shared_ptr<task_call> call, awaitable<json::object> work)
{
    outcome done = co_await run_request_to_end(call->work_, std::move(work));
    call->end(std::move(done));
}

}  // namespace cmcp
