#pragma once

#include "vault/sandbox_vault.hpp"

#include <memory>
#include <set>
#include <string>

namespace cmcp {

/// The sandboxes that are kept or brought now.
struct sandbox_vault::turns {
    std::set<std::string> under_way;
    event ended;  // one of them
};

/// While it lives, nothing else is kept or brought of the sandbox.
class sandbox_vault::turn {
public:
    static awaitable<turn> take(std::shared_ptr<turns> of, std::string id)
    {
        while (of->under_way.contains(id)) co_await of->ended.wait();
        of->under_way.insert(id);
        co_return turn(std::move(of), std::move(id));
    }
    turn(turn&& from) noexcept = default;
    turn& operator=(turn&&) = delete;
    ~turn()
    {
        if (!of_) return;
        of_->under_way.erase(id_);
        of_->ended.notify();
    }

private:
    turn(std::shared_ptr<turns> of, std::string id) : of_(std::move(of)), id_(std::move(id)) {}

    std::shared_ptr<turns> of_;
    std::string id_;
};

}  // namespace cmcp
