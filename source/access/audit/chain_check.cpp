#include "audit/chain_check.hpp"

#include "audit/signing_key.hpp"
#include "jsonrpc/read_object.hpp"
#include "text/encodings.hpp"

#include <algorithm>
#include <utility>

namespace cmcp::audit {

namespace {

constexpr std::size_t deepest_record = 8;

// The text before the digest, and the digest; both empty where the line does not end as a record does.
std::pair<std::string_view, std::string_view> parts_of(std::string_view line)
{
    constexpr auto tail = chain_member.size() + digest_length + line_end.size();
    if (line.size() <= tail || !line.ends_with(line_end)) return {};
    const auto body = line.substr(0, line.size() - tail);
    const auto digest = line.substr(body.size() + chain_member.size(), digest_length);
    if (line.substr(body.size(), chain_member.size()) != chain_member || !is_sha256_hex(digest)) return {};
    return {body, digest};
}

// The text that a head's signature is of, and the signature; both empty where there is none.
std::pair<std::string_view, std::string_view> signed_parts_of(std::string_view body)
{
    constexpr auto tail = signature_member.size() + signature_length + 1;
    if (body.size() <= tail || body.back() != '"') return {};
    const auto text = body.substr(0, body.size() - tail);
    if (body.substr(text.size(), signature_member.size()) != signature_member) return {};
    return {text, body.substr(text.size() + signature_member.size(), signature_length)};
}

std::uint64_t number_in(const json::object& record)
{
    const auto number = number_of(record, "n");
    return number > 0 ? static_cast<std::uint64_t>(number) : 0;
}

bool is(const json::object& record, kind one) { return view_of(record, "kind") == name_of(one); }

}  // namespace

void chain_check::begin_file(std::uint64_t first_number)
{
    named_first_ = first_number;
    line_ = records_ = 0;
}

std::optional<chain_fault> chain_check::take(std::string_view line)
{
    ++line_;
    const auto before = std::exchange(record_, {});
    auto problem = check(line);
    if (problem.empty() && doubt_ && !explains_doubtful_text()) return end_doubt();
    if (problem.empty() && !doubt_ && is(record_, kind::torn))
        problem = "it says that the lines before it were cut off, which are whole";
    if (!problem.empty()) {
        record_ = before;
        if (may_be_torn(line)) return doubt(line, std::move(problem)), std::nullopt;
        return doubt_ ? end_doubt() : chain_fault{line_, std::move(problem)};
    }
    if (doubt_) ++torn_lines_;
    doubt_.reset();
    doubtful_.clear();
    ++records_;
    last_.number = number_in(record_);
    last_.digest.assign(parts_of(line).second);
    if (is(record_, kind::head)) sealed_ = last_;
    return std::nullopt;
}

// A line that ends as a record does was not cut off.
bool chain_check::may_be_torn(std::string_view line) const
{
    return records_ != 0 && parts_of(line).first.empty() && doubtful_.size() + line.size() <= longest_line;
}

void chain_check::doubt(std::string_view line, std::string problem)
{
    if (doubt_) doubtful_ += '\n';
    doubtful_ += line;
    if (!doubt_) doubt_ = chain_fault{line_, std::move(problem)};
}

std::optional<chain_fault> chain_check::end_doubt()
{
    doubtful_.clear();
    return std::exchange(doubt_, std::nullopt);
}

std::optional<chain_fault> chain_check::end_file(std::string_view rest, bool is_last)
{
    if (doubt_) return end_doubt();
    torn_bytes_ = rest.size();
    if (is_last) return std::nullopt;
    if (!rest.empty()) return chain_fault{line_ + 1, "the file goes on behind its last line"};
    if (next_key_.empty())
        return chain_fault{line_, "the file ends without the signature that hands over to the next file"};
    return std::nullopt;
}

void chain_check::trust(std::string_view line)
{
    const auto position = position_in(line);
    if (position.number == 0) return;
    end_doubt();
    last_ = position;
    ++records_;
    record_ = jsonrpc::read_object(line, deepest_record);
    if (is(record_, kind::file)) key_ = view_of(record_, "key");
    if (is(record_, kind::head)) next_key_ = view_of(record_, "next_key");
    if (is(record_, kind::head)) sealed_ = last_;
}

std::string chain_check::check(std::string_view line)
{
    if (line.size() > longest_line) return "it is longer than any record";
    const auto [body, digest] = parts_of(line);
    if (body.empty()) return "it is no record: it does not end with the digest of a chain";
    record_ = jsonrpc::read_object(line, deepest_record);
    if (number_in(record_) == 0 || view_of(record_, "kind").empty()) return "it is no record: n or kind is missing";
    auto problem = records_ == 0 ? check_beginning(body, digest) : check_position(body, digest);
    if (problem.empty() && is(record_, kind::head)) problem = check_head(body);
    return problem;
}

// The first record of a file names the digest that it goes on from, because the file before it may be gone.
std::string chain_check::check_beginning(std::string_view body, std::string_view digest)
{
    const auto before = view_of(record_, "previous"), key = view_of(record_, "key");
    const auto number = number_in(record_);
    if (!is(record_, kind::file) || !is_sha256_hex(before) || !is_sha256_hex(key))
        return "it is not the first record of a file";
    if (number != named_first_) return "the file's name tells another number than its first record";
    if (digests_.of({before, body}) != digest) return "its digest is not that of its text";
    if (first_ != 0 && number != last_.number + 1)
        return "records are missing before it: the last one is " + std::to_string(last_.number);
    if (first_ != 0 && before != last_.digest) return "it does not go on from the last record of the file before";
    if (first_ != 0 && key != next_key_) return "its key is not the one that the file before hands over to";
    if (first_ == 0) {
        first_ = number;
        first_key_ = key;
        begins_behind_ = before;
    }
    key_ = key;
    next_key_.clear();
    return {};
}

std::string chain_check::check_position(std::string_view body, std::string_view digest)
{
    if (const auto number = number_in(record_); number != last_.number + 1)
        return "it is record " + std::to_string(number) + " behind record " + std::to_string(last_.number);
    if (is(record_, kind::file)) return "a file begins within a file";
    if (!next_key_.empty()) return "it stands behind the last record of its file";
    if (digests_.of({last_.digest, body}) != digest)
        return "its digest is not that of its text and of the record before it";
    return {};
}

std::string chain_check::check_head(std::string_view body)
{
    const auto [text, signature] = signed_parts_of(body);
    if (text.empty()) return "it is a head without a signature";
    if (view_of(record_, "head") != last_.text()) return "it is the head of other records";
    if (view_of(record_, "key") != key_ || !is_signed(text, signature, key_))
        return "its signature is not of the key of this file";
    auto next = text_of(record_, "next_key");
    if (!next.empty() && !is_sha256_hex(next)) return "the next key is no key";
    next_key_ = std::move(next);
    return {};
}

bool chain_check::explains_doubtful_text() const
{
    return is(record_, kind::torn) && number_of(record_, "bytes") == static_cast<std::int64_t>(doubtful_.size()) &&
           view_of(record_, "sha256") == sha256_hex(doubtful_);
}

// A head names the digest before it, so its own can be checked as well.
bool is_signed_head(std::string_view line)
{
    const auto [body, digest] = parts_of(line);
    const auto [text, signature] = signed_parts_of(body);
    const auto record = jsonrpc::read_object(line, deepest_record);
    const auto before = view_of(record, "head");
    const auto colon = std::min(before.find(':'), before.size());
    return !text.empty() && is(record, kind::head) && is_signed(text, signature, view_of(record, "key")) &&
           digest_maker().of({before.substr(std::min(colon + 1, before.size())), body}) == digest;
}

chain_position position_in(std::string_view line)
{
    const auto [body, digest] = parts_of(line);
    if (body.empty()) return {};
    return {number_in(jsonrpc::read_object(line, deepest_record)), std::string(digest)};
}

}  // namespace cmcp::audit
