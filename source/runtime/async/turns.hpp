#pragma once

#include "async/event.hpp"

#include <map>
#include <memory>
#include <string>
#include <utility>

namespace cmcp {

/// Lets work on things of the same name come one after another. Io thread only. A coroutine that waits for its turn, or
/// has it, may end after this.
class turns {
    struct queue {
        bool is_held = false;
        event freed;
    };

public:
    /// The right to work, as long as it lives.
    class turn {
    public:
        explicit turn(std::shared_ptr<queue> of) : of_(std::move(of)) { of_->is_held = true; }
        turn(turn&&) noexcept = default;
        turn& operator=(turn&&) = delete;
        ~turn()
        {
            if (!of_) return;
            of_->is_held = false;
            of_->freed.notify();
        }

    private:
        std::shared_ptr<queue> of_;
    };

    awaitable<turn> take(std::string name)
    {
        std::erase_if(queues_, [](const auto& each) { return each.second.use_count() == 1; });
        auto& known = queues_[name];
        if (!known) known = std::make_shared<queue>();
        const auto of = known;
        while (of->is_held) co_await of->freed.wait();
        co_return turn(of);
    }

private:
    std::map<std::string, std::shared_ptr<queue>> queues_;  // by name
};

}  // namespace cmcp
