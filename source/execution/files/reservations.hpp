#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace cmcp {

/// What work under way may still take, by owner, beside what is counted already: bytes of the disk, or sandboxes. Io
/// thread only.
class reservations {
    using amount_by_owner = std::map<std::string, std::uint64_t>;

public:
    /// What belongs to one piece of work until its end; it is given back then.
    class share {
    public:
        share() = default;
        share(share&& other) noexcept { swap(other); }
        share& operator=(share&& other) noexcept
        {
            share(std::move(other)).swap(*this);
            return *this;
        }
        ~share()
        {
            if (all_) resize(0);
        }

        const std::string& owner() const { return owner_; }
        std::uint64_t amount() const { return amount_; }

        /// Must be a share of some reservations.
        void resize(std::uint64_t amount)
        {
            auto& sum = (*all_)[owner_];
            sum = sum - amount_ + amount;
            amount_ = amount;
            if (sum == 0) all_->erase(owner_);
        }

    private:
        friend class reservations;

        void swap(share& other) noexcept
        {
            std::swap(all_, other.all_);
            std::swap(owner_, other.owner_);
            std::swap(amount_, other.amount_);
        }

        std::shared_ptr<amount_by_owner> all_;  // null: of nothing
        std::string owner_;
        std::uint64_t amount_ = 0;
    };

    share take(std::string owner, std::uint64_t amount)
    {
        share reserved;
        reserved.all_ = all_;
        reserved.owner_ = std::move(owner);
        reserved.resize(amount);
        return reserved;
    }

    std::uint64_t of(const std::string& owner) const
    {
        const auto sum = all_->find(owner);
        return sum == all_->end() ? 0 : sum->second;
    }

private:
    std::shared_ptr<amount_by_owner> all_ = std::make_shared<amount_by_owner>();
};

}  // namespace cmcp
