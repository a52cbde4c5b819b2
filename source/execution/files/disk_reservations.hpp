#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace cmcp {

/// Bytes of the disk that writes under way may still take, by owner, beside those that were measured. Io thread only.
class disk_reservations {
    using bytes_by_owner = std::map<std::string, std::uint64_t>;

public:
    /// Bytes that belong to one write until its end; they are given back then.
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
        std::uint64_t bytes() const { return bytes_; }

        /// Must be a share of some reservations.
        void resize(std::uint64_t bytes)
        {
            auto& sum = (*all_)[owner_];
            sum = sum - bytes_ + bytes;
            bytes_ = bytes;
            if (sum == 0) all_->erase(owner_);
        }

    private:
        friend class disk_reservations;

        void swap(share& other) noexcept
        {
            std::swap(all_, other.all_);
            std::swap(owner_, other.owner_);
            std::swap(bytes_, other.bytes_);
        }

        std::shared_ptr<bytes_by_owner> all_;  // null: of nothing
        std::string owner_;
        std::uint64_t bytes_ = 0;
    };

    share take(std::string owner, std::uint64_t bytes)
    {
        share taken;
        taken.all_ = all_;
        taken.owner_ = std::move(owner);
        taken.resize(bytes);
        return taken;
    }

    std::uint64_t of(const std::string& owner) const
    {
        const auto sum = all_->find(owner);
        return sum == all_->end() ? 0 : sum->second;
    }

private:
    std::shared_ptr<bytes_by_owner> all_ = std::make_shared<bytes_by_owner>();
};

}  // namespace cmcp
