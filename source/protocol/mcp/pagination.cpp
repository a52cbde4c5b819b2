#include "mcp/pagination.hpp"

#include "jsonrpc/absent.hpp"
#include "jsonrpc/rpc_error.hpp"
#include "text/encodings.hpp"
#include "text/number.hpp"

#include <string>

namespace cmcp {

namespace {

std::string cursor_at(std::string_view list, std::size_t offset)
{
    return base64_encode(std::string(list) + ":" + std::to_string(offset));
}

[[noreturn]] void refuse_cursor()
{
    throw rpc_error(rpc_code::invalid_params,
                    "Invalid params: `cursor` is not one that this server gave for this list");
}

std::size_t offset_of(std::string_view list, const json::object& params, std::size_t size)
{
    const auto* cursor = jsonrpc::given(params, "cursor", json::kind::string);
    if (!cursor) return 0;
    if (!cursor->is_string()) refuse_cursor();
    if (cursor->get_string().empty()) return 0;  // no cursor of this server is
    const auto text = base64_decode(std::string_view(cursor->get_string()));
    const auto head = std::string(list) + ":";
    if (!text || text->substr(0, head.size()) != head) refuse_cursor();
    const auto offset = read_number<std::size_t>(std::string_view(*text).substr(head.size()));
    if (!offset || *offset > size) refuse_cursor();
    return *offset;
}

}  // namespace

json::object page_of(json::array items, std::string_view list, const json::object& params)
{
    return page_of(
        items.size(), [&items](std::size_t i) { return std::move(items[i]); }, list, params);
}

json::object page_of(std::size_t count, const std::function<json::value(std::size_t)>& item, std::string_view list,
                     const json::object& params)
{
    const auto begin = offset_of(list, params, count);
    const auto end = std::min(count, begin + page_size);
    json::object page;
    json::array& part = page[list].emplace_array();
    part.reserve(end - begin);
    for (auto i = begin; i < end; ++i) part.push_back(item(i));
    if (end < count) page["nextCursor"] = cursor_at(list, end);
    return page;
}

}  // namespace cmcp
