#include "jsonrpc/read_object.hpp"

#include "jsonrpc/exact_values.hpp"

#include <boost/json/basic_parser_impl.hpp>

#include <utility>

namespace cmcp::jsonrpc {

std::optional<json::value> read_value(std::string_view text, std::size_t depth, json::storage_ptr in)
{
    json::parse_options limits;
    limits.max_depth = depth;
    json::basic_parser<exact_values> parser(limits);
    json::error_code failure;
    parser.handler().stack.reset(std::move(in));
    const auto size = parser.write_some(false, text.data(), text.size(), failure);
    if (failure || size != text.size() || !parser.done()) return std::nullopt;
    return parser.handler().stack.release();
}

json::object read_object(std::string_view text, std::size_t depth, json::storage_ptr in)
{
    auto value = read_value(text, depth, std::move(in));
    return value && value->is_object() ? std::move(value->get_object()) : json::object();
}

}  // namespace cmcp::jsonrpc
