#include "tools/described_tool.hpp"

#include "files/file_error.hpp"
#include "sandboxes/sandbox_error.hpp"
#include "store/database.hpp"

namespace cmcp {

tool_result sandbox_refusal(std::string_view type, const std::string& sentence)
{
    auto result = tool_failure(sentence);
    result.structured["error_type"] = type.empty() ? "InvalidArgument" : type;
    return result;
}

tool_result file_refusal(std::string_view type, const std::string& sentence)
{
    return sandbox_refusal(type.empty() ? "ToolFailed" : type, sentence);
}

tool_result interpreter_refusal(std::string_view type, const std::string& sentence)
{
    auto result = sandbox_refusal(type, sentence);
    result.structured["status"] = "error";
    result.structured["message"] = sentence;
    return result;
}

tool_result answer_of(json::object structured)
{
    tool_result result;
    result.structured = std::move(structured);
    return result;
}

awaitable<tool_result> with_refusals(awaitable<tool_result> work, refusal_form refuse)
{
    std::string type, sentence;
    try {
        auto result = co_await std::move(work);
        co_return result;
    } catch (const sandbox_error& refused) {
        type = refused.type;
        sentence = refused.what();
    } catch (const file_missing& refused) {
        type = "NotFound";
        sentence = refused.what();
    } catch (const file_error& refused) {
        sentence = refused.what();
    } catch (const database_error& refused) {
        type = "SandboxError";
        sentence = std::string("The store of sandboxes does not work (") + refused.what() +
                   "); check the disk that SANDBOX_ROOT is on.";
    }
    co_return refuse(type, sentence);
}

}  // namespace cmcp
