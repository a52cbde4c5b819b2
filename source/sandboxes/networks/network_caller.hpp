#pragma once

#include "async/event.hpp"
#include "mcp/caller.hpp"
#include "mcp/request_io.hpp"
#include "networks/network_question.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/this_coro.hpp>

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>

namespace cmcp {

class network_questions;

/// A call that runs in a sandbox, whose client is asked about the sandbox's network meanwhile: one question after the
/// other. What is still open at its end is refused.
class network_caller {
public:
    /// `sandbox` is the id, `name` what the user knows it by. All references must outlive this.
    network_caller(network_questions& asks, std::string sandbox, std::string name, const caller& who, request_io& io);
    network_caller(const network_caller&) = delete;
    network_caller& operator=(const network_caller&) = delete;
    ~network_caller();

    /// Why its client is not asked anything (more), to go on after "because"; empty: it is asked.
    std::string obstacle() const;

    /// Only where there is no obstacle.
    void take(std::shared_ptr<network_question> question);

    /// Puts the questions until it is cancelled.
    awaitable<> run();

    const std::set<std::string>& allowed() const { return allowed_; }   ///< places, for this run alone
    const policy_decision* refusal_of(const std::string& place) const;  ///< for this run alone; null: none
    const std::string& sandbox() const { return sandbox_; }
    const std::string& request() const { return io_.request(); }

private:
    friend class network_questions;

    awaitable<> put(std::shared_ptr<network_question> question);
    void take_answer(const network_question& question, const json::object& answer);
    void refuse_for_now(const std::string& place, const std::string& why);
    void refuse_all_for_now(const std::string& why);

    network_questions& asks_;
    std::string sandbox_;
    std::string name_;
    request_io& io_;
    std::string obstacle_;
    std::size_t count_ = 0;  // of questions put
    std::deque<std::shared_ptr<network_question>> waiting_;
    std::set<std::string> allowed_;
    std::map<std::string, policy_decision> refused_;
    event raised_;
};

/// Runs `work`, the call's own, and beside it the caller's questions, which end with the work.
template <class T>
awaitable<T> with_questions(network_caller& asking, awaitable<T> work)
{
    auto executor = co_await asio::this_coro::executor;
    auto group = asio::experimental::make_parallel_group(asio::co_spawn(executor, std::move(work), asio::deferred),
                                                         asio::co_spawn(executor, asking.run(), asio::deferred));
    auto [order, failure, value, question_failure] =
        co_await group.async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
    if (order[0] == 1 && question_failure) std::rethrow_exception(question_failure);
    if (failure) std::rethrow_exception(failure);
    co_return std::move(value);
}

}  // namespace cmcp
