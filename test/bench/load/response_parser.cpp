#include "load/response_parser.hpp"

#include "text/ascii.hpp"

#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace cmcp::load {

namespace http = boost::beast::http;
using boost::beast::string_view;
using boost::system::error_code;

namespace {

constexpr std::uint32_t longest_header = 64 * 1024;
constexpr std::string_view event_stream = "text/event-stream";

}  // namespace

// Beast's parser of one answer. Handlers are called between its steps, because they may reset it.
struct response_parser::answer final : http::basic_parser<false> {
    answer()
    {
        header_limit(longest_header);
        body_limit(boost::none);
        eager(true);
    }

    response_head head;
    bool head_came = false;
    std::vector<std::string_view> pieces;  // parts of the bytes that were put last

    void on_response_impl(int status, string_view, int, error_code&) override { head.status = status; }

    void on_field_impl(http::field name, string_view text, string_view value, error_code&) override
    {
        if (name == http::field::content_type)
            head.events =
                equal_ignoring_case({value.data(), std::min(value.size(), event_stream.size())}, event_stream);
        else if (name == http::field::unknown)
            own_field({text.data(), text.size()}, {value.data(), value.size()});
    }

    void own_field(std::string_view name, std::string_view value)
    {
        if (equal_ignoring_case(name, "mcp-session-id")) head.session = value;
        if (equal_ignoring_case(name, "x-served-by")) head.served_by = value;
    }

    void on_header_impl(error_code&) override
    {
        head.close = !keep_alive();
        head_came = head.status != 100;
    }

    std::size_t on_body_impl(string_view piece, error_code&) override
    {
        pieces.emplace_back(piece.data(), piece.size());
        return piece.size();
    }

    std::size_t on_chunk_body_impl(std::uint64_t, string_view piece, error_code& error) override
    {
        return on_body_impl(piece, error);
    }

    // The base declares this function pure from Boost 1.84 on.
    void on_trailer_field_impl(http::field, string_view, string_view, error_code&) {}
    void on_request_impl(http::verb, string_view, string_view, int, error_code&) override {}
    void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
    void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
    void on_finish_impl(error_code&) override {}
};

bool response_parser::feed(std::string_view bytes)
{
    std::string joined = std::exchange(unread_, {});
    if (!joined.empty()) bytes = joined.append(bytes);
    while (!bytes.empty()) {
        error_code error;
        bytes.remove_prefix(answer_->put(boost::asio::buffer(bytes), error));
        if (!hand_over()) return true;
        if (error == http::error::need_more) break;
        if (error) return false;
    }
    unread_ = bytes;
    return unread_.size() <= longest_header;
}

// Returns false when a handler has reset the parser, because the remaining bytes then belong to no answer.
bool response_parser::hand_over()
{
    const auto current = answer_;
    if (std::exchange(current->head_came, false)) to_.head(current->head);
    for (const auto piece : std::exchange(current->pieces, {})) {
        if (current != answer_) return false;
        to_.body(piece);
    }
    if (current != answer_) return false;
    if (!current->is_done()) return true;
    reset();
    const auto next = answer_;
    if (current->head.status != 100) to_.end();
    return next == answer_;
}

bool response_parser::closed()
{
    if (!answer_->got_some()) return unread_.empty();
    error_code error;
    answer_->put_eof(error);
    if (error) return false;
    hand_over();
    return true;
}

void response_parser::reset()
{
    answer_ = std::make_shared<answer>();
    unread_.clear();
}

}  // namespace cmcp::load
