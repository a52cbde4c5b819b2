#pragma once

#include "async/event.hpp"

#include <map>
#include <memory>
#include <string>
#include <utility>

namespace cmcp {

/// Lets edits of the files of one sandbox come after each other. Io thread only.
class edit_turns {
    struct queue {
        bool taken = false;
        event freed;
    };

public:
    /// The right to edit, as long as it lives.
    class turn {
    public:
        explicit turn(std::shared_ptr<queue> of) : of_(std::move(of)) { of_->taken = true; }
        turn(turn&&) noexcept = default;
        turn& operator=(turn&&) = delete;
        ~turn()
        {
            if (!of_) return;
            of_->taken = false;
            of_->freed.notify();
        }

    private:
        std::shared_ptr<queue> of_;
    };

    awaitable<turn> begin(std::string sandbox)
    {
        std::erase_if(queues_, [](const auto& each) { return each.second.use_count() == 1; });
        auto& known = queues_[sandbox];
        if (!known) known = std::make_shared<queue>();
        const auto of = known;
        while (of->taken) co_await of->freed.wait();
        co_return turn(of);
    }

private:
    std::map<std::string, std::shared_ptr<queue>> queues_;  // by sandbox
};

}  // namespace cmcp
