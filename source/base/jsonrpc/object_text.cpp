#include "jsonrpc/no_values.hpp"
#include "jsonrpc/read_object.hpp"

#include <boost/json/basic_parser_impl.hpp>

namespace cmcp::jsonrpc {

bool is_object_text(std::string_view text, std::size_t depth)
{
    json::parse_options limits;
    limits.max_depth = depth;
    json::basic_parser<no_values> parser(limits);
    json::error_code failure;
    const auto size = parser.write_some(false, text.data(), text.size(), failure);
    const auto first = text.find_first_not_of(" \t\r\n");
    return !failure && size == text.size() && parser.done() && first != std::string_view::npos && text[first] == '{';
}

}  // namespace cmcp::jsonrpc
