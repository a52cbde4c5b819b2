#pragma once

#include "audit/sink.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cmcp::audit {

/// Decides which records are written whole, so that no principal can push the records of others out of the files that
/// are written. Of connections and refusals that are alike the first ones of a minute are whole. All records of a
/// principal together take from an allowance of bytes that comes back evenly. What is not whole is counted, in groups
/// of records that are alike, and the counts are records of their own when the minute is over. Not thread-safe.
class record_shares {
public:
    using clock = std::chrono::steady_clock;

    struct limits {
        double burst = 8u << 20;          ///< bytes of whole records of a principal at once
        double a_minute = 256u << 10;     ///< bytes that come back
        std::uint64_t alike = 20;         ///< connections, or refusals, of one group that are whole in a minute
        std::size_t groups = 24;          ///< of a principal, kind and minute; the rest of the kind is one group
        std::size_t principals = 20'000;  ///< with an allowance of their own; further ones share one
        std::chrono::seconds minute{60};
    };

    struct sum {
        kind is;
        std::string fields;  ///< as append_fields() writes them: what is alike, `further` and `since`
    };

    record_shares() : record_shares(limits()) {}
    explicit record_shares(limits of) : limits_(of) {}

    /// Whether the record is to be written whole; otherwise it is counted.
    bool takes(kind is, log::fields with, clock::time_point now = clock::now());

    /// The counts of minutes that are over.
    std::vector<sum> ended(clock::time_point now = clock::now());
    std::vector<sum> all();                           ///< those of minutes that are not over, too
    clock::time_point next() const { return next_; }  ///< when ended() has something; max(): nothing is counted

private:
    struct group {
        std::uint64_t whole = 0, further = 0;
        std::string since{};  // when the first one was counted
    };
    struct share {
        double left = 0;
        clock::time_point looked, began;  // of the allowance and of the minute
        bool counts = false;
        std::map<kind, std::map<std::string, group>> groups;  // by what their records have in common
    };

    share& share_of(std::string_view principal, clock::time_point now);
    group& group_of(share& of, kind is, log::fields with, std::string_view principal) const;
    void close(share& of, std::vector<sum>& into) const;

    const limits limits_;
    std::unordered_map<std::string, share> shares_;
    clock::time_point next_ = clock::time_point::max();
};

}  // namespace cmcp::audit
