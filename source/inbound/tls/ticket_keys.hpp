#pragma once

#include <array>
#include <chrono>
#include <mutex>
#include <optional>

namespace cmcp {

/// The keys of session tickets: a client that comes back with a ticket resumes its session without a signature. A key
/// makes tickets for one period and opens them for another one, so that a key that leaks opens little of what was
/// recorded. Several threads may use it.
class ticket_keys {
public:
    using clock = std::chrono::steady_clock;

    struct key {
        std::array<unsigned char, 16> name;
        std::array<unsigned char, 32> cipher;
        std::array<unsigned char, 32> mac;
    };

    explicit ticket_keys(std::chrono::seconds period) : period_(period) {}

    key to_make(clock::time_point now = clock::now());

    /// `old`: the client is to get a new ticket. Nothing: no key of this name, or its time is over.
    struct opener {
        key is;
        bool old = false;
    };
    std::optional<opener> to_open(const unsigned char* name, clock::time_point now = clock::now());

private:
    void turn(clock::time_point now);

    std::chrono::seconds period_;
    std::mutex mutex_;
    std::optional<key> current_, previous_;
    clock::time_point began_;  // of the current one
};

}  // namespace cmcp
