#pragma once

#include "audit/sink.hpp"
#include "text/digest_maker.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace cmcp::audit {

class signing_key;

/// The digest that stands for nothing, before the first record.
inline const std::string no_digest(digest_length, '0');

/// The number and the digest of the latest record.
struct chain_position {
    std::uint64_t number = 0;  ///< 0: there is none yet
    std::string digest = no_digest;

    std::string text() const { return std::to_string(number) + ":" + digest; }
    bool operator==(const chain_position&) const = default;
};

/// A record before it has its position in the chain.
struct record {
    std::chrono::system_clock::time_point at;
    kind is = kind::call;
    std::string_view fields;     ///< as append_fields() writes them
    std::string_view arguments;  ///< their digest; empty: there are none
};

// The end of a line: `,"chain":"<64 digits>"}`. Before it a head has `,"signature":"<128 digits>"`.
inline constexpr std::string_view chain_member = ",\"chain\":\"", signature_member = ",\"signature\":\"",
                                  line_end = "\"}";
inline constexpr std::size_t signature_length = 128;

/// Makes the lines of records. A line is a JSON object whose last member is the digest of the record before it and of
/// its own text up to there, so it holds for all that came before. For one thread.
class chain {
public:
    explicit chain(chain_position last = {}) : last_(std::move(last)) {}

    const chain_position& last() const { return last_; }

    /// Appends the line with its newline. A head is signed: `by` is not null then.
    void append(std::string& out, const record& of, const signing_key* by = nullptr);

private:
    chain_position last_;
    digest_maker digests_;
};

}  // namespace cmcp::audit
