#pragma once

#include "audit/chain.hpp"
#include "jsonrpc/json.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp::audit {

/// Where an audit is not as the server wrote it.
struct chain_fault {
    std::uint64_t line = 0;  ///< of the file, from 1 on; 0: the file as a whole
    std::string problem;     ///< a sentence
};

/// Follows the lines of an audit from file to file, and says what is not as the server wrote it. For one thread.
class chain_check {
public:
    /// A file begins, whose name tells the number of its first record. Where it is not the first one that is looked at,
    /// it has to go on from the one before.
    void begin_file(std::uint64_t first_number);

    /// The next line, without its newline. A line that is not right may be one that was cut off when the server was
    /// killed. Only lines behind it tell, so its fault is reported then.
    std::optional<chain_fault> take(std::string_view line);

    /// The file has ended, with `rest` behind its last newline. `is_last`: no file follows, so the rest may be a line
    /// that was cut off and is not noted yet.
    std::optional<chain_fault> end_file(std::string_view rest, bool is_last);

    /// Goes on behind a line that was not right, as if it were. For a server that has to go on.
    void trust(std::string_view line);

    /// Lines at the end that are no records; their text, with newlines between. A record `torn` may follow.
    const std::string& doubtful_text() const { return doubtful_; }

    // The state at this position.
    const chain_position& last() const { return last_; }
    std::uint64_t first_number() const { return first_; }                ///< of the first record that was taken
    const std::string& begins_behind() const { return begins_behind_; }  ///< digest that the first file goes on from
    const std::string& first_key() const { return first_key_; }          ///< that signs in the first file
    const std::string& key() const { return key_; }                      ///< that signs in this file
    const std::string& next_key() const { return next_key_; }            ///< for the next file; empty: not yet
    std::uint64_t records() const { return records_; }                   ///< of this file
    const chain_position& sealed() const { return sealed_; }             ///< the latest head
    std::uint64_t torn_lines() const { return torn_lines_; }
    std::uint64_t torn_bytes() const { return torn_bytes_; }  ///< behind the last newline of the last file
    const json::object& record() const { return record_; }    ///< of the latest line that was right

private:
    std::string check(std::string_view line);
    std::string check_beginning(std::string_view body, std::string_view digest);
    std::string check_position(std::string_view body, std::string_view digest);
    std::string check_head(std::string_view body);
    bool may_be_torn(std::string_view line) const;
    void doubt(std::string_view line, std::string problem);
    std::optional<chain_fault> end_doubt();
    bool explains_doubtful_text() const;

    chain_position last_, sealed_;
    digest_maker digests_;
    json::object record_;
    std::string key_, next_key_, first_key_, begins_behind_, doubtful_;
    std::optional<chain_fault> doubt_;
    std::uint64_t named_first_ = 0, first_ = 0, line_ = 0, records_ = 0, torn_lines_ = 0, torn_bytes_ = 0;
};

/// A head by itself: whether it is signed by the key that it names, and nothing of it was changed.
bool is_signed_head(std::string_view line);

/// The number and digest that a line has of itself; number 0: it is no record.
chain_position position_in(std::string_view line);

/// Longer lines are not written.
inline constexpr std::size_t longest_line = 1 << 20;

}  // namespace cmcp::audit
