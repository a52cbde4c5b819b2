#include "mcp/era.hpp"

namespace cmcp {

awaitable<json::object> era::result_of(std::shared_ptr<served_request> request)
{
    for (;;) {
        input_required needed;
        try {
            json::object result = co_await attempt(*request);
            co_return result;
        } catch (const input_required& questions) {
            needed = questions;
        }
        auto result = co_await ask(*request, std::move(needed));
        if (result) co_return std::move(*result);
    }
}

}  // namespace cmcp
