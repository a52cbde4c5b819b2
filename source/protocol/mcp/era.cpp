#include "mcp/era.hpp"

#include "mcp/catalogue.hpp"
#include "mcp/other_nodes.hpp"

namespace cmcp {

awaitable<json::object> era::result_of(std::shared_ptr<running_request> request, const catalogue& offered)
{
    std::string node;
    if (offered.nodes != nullptr) node = co_await node_of(*request, offered);
    for (;;) {
        input_required needed;
        bool is_here = false;
        try {
            auto work = node.empty() ? attempt(*request) : attempt_on(*request, node);
            json::object result = co_await std::move(work);
            co_return result;
        } catch (const input_required& thrown) {
            needed = thrown;
        } catch (const found_here&) {
            is_here = true;
        }
        if (is_here) {
            node.clear();
            continue;
        }
        auto result = co_await ask(*request, std::move(needed));
        if (result) co_return std::move(*result);
    }
}

}  // namespace cmcp
