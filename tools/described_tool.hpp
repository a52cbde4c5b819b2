#pragma once

#include "async/blocking_pool.hpp"
#include "async/sized_work.hpp"
#include "jsonrpc/json_size.hpp"
#include "mcp/tool.hpp"
#include "tools/field.hpp"

#include <functional>
#include <memory>
#include <string>

namespace cmcp {

/// The result that tells of a refusal: `type` is for programs; empty for an argument that the domain refuses.
using refusal_form = tool_result (*)(std::string_view type, const std::string& sentence);

tool_result sandbox_refusal(std::string_view type, const std::string& sentence);  ///< {success, error, error_type}
tool_result file_refusal(std::string_view type, const std::string& sentence);     ///< with ToolFailed for no type

/// The tools of the interpreter speak of `status`: {success, error, error_type, status: "error", message}.
tool_result interpreter_refusal(std::string_view type, const std::string& sentence);

tool_result answer_of(json::object structured);

/// Bytes of JSON that a page of text or of rows may have in a result of so many, beside its facts.
constexpr std::size_t room_for_text(std::size_t result_limit) { return result_limit - result_limit / 16 - 512; }

/// The next part to try where `part` bytes or characters became `size` bytes of JSON, more than there is room for.
constexpr std::size_t smaller_part(std::size_t part, std::size_t size, std::size_t room)
{
    return part * room / (size + room / 8);
}

/// The result of `work`; refusals of files, sandboxes and their store become results, too.
awaitable<tool_result> with_refusals(awaitable<tool_result> work, refusal_form refuse);

struct no_input {};

/// The parts of a tool.
template <class Input>
struct tool_parts {
    tool_definition about;  ///< its input_schema follows from `input`
    fields<Input> input;
    std::function<awaitable<tool_result>(tool_context&, Input)>
        process;  ///< a coroutine with what it needs bound to it
    refusal_form refuse = sandbox_refusal;
    std::string obstacle{};  ///< see tool::obstacle()
};

template <class Input>
class described_tool final : public tool {
public:
    explicit described_tool(tool_parts<Input> parts) : parts_(std::move(parts))
    {
        parts_.about.input_schema = input_schema(parts_.input);
        parts_.about.listed_schema = listed_schema(parts_.input);
    }

    const tool_definition& definition() const override { return parts_.about; }
    std::string obstacle() const override { return parts_.obstacle; }
    void describe_as(std::string description) { parts_.about.description = std::move(description); }

    awaitable<tool_result> call(tool_context& context, json::object arguments) override
    {
        if (context.pool != nullptr && jsonrpc::is_larger(arguments, most_on_loop))
            return with_refusals(call_with_large(context, std::move(arguments)), parts_.refuse);
        auto input = read_input(parts_.input, arguments);
        if constexpr (requires { input.memory = arguments.storage(); }) input.memory = arguments.storage();
        return with_refusals(parts_.process(context, std::move(input)), parts_.refuse);
    }

private:
    // Copying them is the pool's work, where they also end.
    awaitable<tool_result> call_with_large(tool_context& context, json::object arguments)
    {
        auto read = [described = parts_.input, shared = std::make_shared<json::object>(std::move(arguments))] {
            const json::object own = std::move(*shared);
            return read_input(described, own);
        };
        auto input = co_await context.pool->run(context.who.principal, std::move(read));
        auto result = co_await parts_.process(context, std::move(input));
        co_return result;
    }

    tool_parts<Input> parts_;
};

template <class Input>
std::unique_ptr<described_tool<Input>> make_tool(tool_parts<Input> parts)
{
    return std::make_unique<described_tool<Input>>(std::move(parts));
}

}  // namespace cmcp
