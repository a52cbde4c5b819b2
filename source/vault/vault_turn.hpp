#pragma once

#include "vault/sandbox_vault.hpp"

#include <string>

namespace cmcp {

/// While it lives, nothing else is kept or brought of the sandbox.
class sandbox_vault::turn {
public:
    static awaitable<turn> take(sandbox_vault& of, std::string id)
    {
        while (of.under_way_.contains(id)) co_await of.ended_.wait();
        of.under_way_.insert(id);
        co_return turn(of, std::move(id));
    }
    turn(turn&& from) noexcept : of_(std::exchange(from.of_, nullptr)), id_(std::move(from.id_)) {}
    turn& operator=(turn&&) = delete;
    ~turn()
    {
        if (of_ == nullptr) return;
        of_->under_way_.erase(id_);
        of_->ended_.notify();
    }

private:
    turn(sandbox_vault& of, std::string id) : of_(&of), id_(std::move(id)) {}

    sandbox_vault* of_;
    std::string id_;
};

}  // namespace cmcp
