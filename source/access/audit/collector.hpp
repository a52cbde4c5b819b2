#pragma once

#include "audit/record_shares.hpp"
#include "audit/sink.hpp"
#include "text/digest_maker.hpp"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace cmcp::audit {

/// Records that wait to be written, as texts one behind another in one piece of memory.
struct batch {
    struct entry {
        std::chrono::system_clock::time_point at;
        std::uint32_t fields = 0;     ///< bytes
        std::uint32_t arguments = 0;  ///< bytes, behind the fields
        kind is = kind::call;
        bool is_digest = false;  ///< the arguments are their digest already
    };

    std::vector<entry> entries;
    std::string text;
    std::uint64_t dropped = 0;  ///< records behind these that found no room

    std::size_t size() const { return text.size() + entries.size() * sizeof(entry); }
    bool empty() const { return entries.empty() && dropped == 0; }
    void clear();
};

/// Takes records on the io thread and hands them over in batches to the thread that writes, which comes for them at its
/// own pace. So a record costs the io thread neither a system call nor a digest.
class collector {
public:
    using clock = std::chrono::steady_clock;

    struct limits {
        std::size_t full = 16u << 20;  ///< bytes, from which on is_full()
        std::size_t most = 24u << 20;  ///< from which on records are dropped
    };

    explicit collector(limits of, record_shares::limits shares = {}) : limits_(of), shares_(shares) {}

    // On the io thread:
    void add(kind is, log::fields with, const json::object* arguments, std::string_view digest = {});
    void settle();  ///< makes records of what was counted so far
    bool is_full();

    // On the thread that writes:
    /// Until there is a record, or something was counted for a minute, `until` has passed, or stop(). False: stop().
    bool wait(clock::time_point until);
    /// Until `until` has passed, or stop(), whatever comes meanwhile.
    bool rest(clock::time_point until);
    /// The records, instead of those of `into`, whose memory serves for the next ones.
    void take(batch& into);

    void stop();  ///< from any thread

private:
    const limits limits_;
    void add_sums(std::vector<record_shares::sum> sums);

    digest_maker digests_;
    std::mutex mutex_;
    std::condition_variable wake_;
    batch records_;
    record_shares shares_;
    bool waits_ = false;  // somebody waits for the next record
    bool stopped_ = false;
};

}  // namespace cmcp::audit
