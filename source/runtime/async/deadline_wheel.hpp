#pragma once

#include "async/asio.hpp"

#include <boost/asio/steady_timer.hpp>

#include <array>
#include <chrono>
#include <memory>

namespace cmcp {

/// Deadlines of many objects on one timer. Most deadlines are moved or cleared long before they pass, so doing that is
/// a few stores: an entry stays in its slot and is looked at when the slot's time has come. Up to two ticks late, never
/// early. All calls on the io thread.
class deadline_wheel : public std::enable_shared_from_this<deadline_wheel> {
public:
    using clock = std::chrono::steady_clock;

    /// Base of an object with one deadline.
    class entry {
    public:
        explicit entry(std::shared_ptr<deadline_wheel> on) : wheel_(std::move(on)) {}
        entry(const entry&) = delete;
        entry& operator=(const entry&) = delete;

        void set_deadline(std::chrono::milliseconds from_now);
        void clear_deadline() { due_ = clock::time_point::max(); }

    protected:
        ~entry() { unlink(); }
        virtual void deadline_passed() = 0;  ///< must not destroy the wheel's owner; may destroy this

    private:
        friend class deadline_wheel;
        void unlink();

        std::shared_ptr<deadline_wheel> wheel_;
        clock::time_point due_ = clock::time_point::max();
        clock::time_point seen_at_;  // when its slot comes; only while linked
        entry* next_ = nullptr;
        entry** link_ = nullptr;  // the pointer to this entry
    };

    explicit deadline_wheel(asio::any_io_executor executor) : timer_(executor) {}
    ~deadline_wheel();

private:
    static constexpr std::chrono::milliseconds tick{20};
    static constexpr std::size_t slots = 512;

    static std::size_t slot_of(clock::time_point when);
    void put(entry& one);
    void run();
    void turn();
    void look_at(std::size_t slot);

    std::array<entry*, slots> slots_{};
    std::size_t entries_ = 0;
    clock::time_point turned_to_;  // all slots up to here have been looked at
    clock::time_point wakes_at_;
    asio::steady_timer timer_;
    bool running_ = false;
};

}  // namespace cmcp
