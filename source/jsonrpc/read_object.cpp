#include "jsonrpc/read_object.hpp"

#include <boost/json/basic_parser_impl.hpp>

#include <charconv>

namespace cmcp::jsonrpc {

namespace {

// Builds the value as json::parser does, but for doubles.
struct exact_values {
    static constexpr std::size_t max_object_size = json::object::max_size();
    static constexpr std::size_t max_array_size = json::array::max_size();
    static constexpr std::size_t max_key_size = json::string::max_size();
    static constexpr std::size_t max_string_size = json::string::max_size();

    using text = json::string_view;
    using code = json::error_code;

    bool on_document_begin(code&) { return true; }
    bool on_document_end(code&) { return true; }
    bool on_object_begin(code&) { return true; }
    bool on_array_begin(code&) { return true; }
    bool on_object_end(std::size_t size, code&) { return stack.push_object(size), true; }
    bool on_array_end(std::size_t size, code&) { return stack.push_array(size), true; }
    bool on_key_part(text part, std::size_t, code&) { return stack.push_chars(part), true; }
    bool on_key(text part, std::size_t, code&) { return stack.push_key(part), true; }
    bool on_string_part(text part, std::size_t, code&) { return stack.push_chars(part), true; }
    bool on_string(text part, std::size_t, code&) { return stack.push_string(part), true; }
    bool on_number_part(text, code&) { return true; }
    bool on_int64(std::int64_t number, text, code&) { return stack.push_int64(number), true; }
    bool on_uint64(std::uint64_t number, text, code&) { return stack.push_uint64(number), true; }
    bool on_bool(bool flag, code&) { return stack.push_bool(flag), true; }
    bool on_null(code&) { return stack.push_null(), true; }
    bool on_comment_part(text, code&) { return true; }
    bool on_comment(text, code&) { return true; }

    // The text is in one piece, so the digits of a number are, too.
    bool on_double(double number, text digits, code&)
    {
        double exact = 0;
        const auto* end = digits.data() + digits.size();
        const auto [last, problem] = std::from_chars(digits.data(), end, exact);
        stack.push_double(problem == std::errc() && last == end ? exact : number);
        return true;
    }

    json::value_stack stack;
};

}  // namespace

std::optional<json::value> read_value(std::string_view text, std::size_t depth)
{
    json::parse_options limits;
    limits.max_depth = depth;
    json::basic_parser<exact_values> parser(limits);
    json::error_code failure;
    parser.handler().stack.reset();
    const auto size = parser.write_some(false, text.data(), text.size(), failure);
    if (failure || size != text.size() || !parser.done()) return std::nullopt;
    return parser.handler().stack.release();
}

json::object read_object(std::string_view text, std::size_t depth)
{
    auto value = read_value(text, depth);
    return value && value->is_object() ? std::move(value->get_object()) : json::object();
}

}  // namespace cmcp::jsonrpc
