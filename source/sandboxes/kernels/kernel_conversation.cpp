#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "kernels/kernel_ends.hpp"
#include "kernels/kernel_turn.hpp"

#include <chrono>
#include <functional>
#include <utility>

// The part of kernel_manager that serves clients of Jupyter's protocol.
namespace cmcp {

namespace {

constexpr auto longest_look = std::chrono::seconds(20);  // of a question about the code

bool is_cell(const json::object& message) { return message.contains("notebook"); }

constexpr std::size_t longest_account = 64 * 1024;  // of a kernel's earlier life

std::string warning(const std::string& sentence)
{
    return jsonrpc::write_json(json::object{{"name", "stderr"}, {"text", sentence + "\n"}});
}

/// Tells in words what a new kernel has of the one before.
class listener_of_new_kernel final : public kernel_listener {
public:
    using words = std::function<std::string(const json::object& earlier)>;

    listener_of_new_kernel(kernel_listener& to, words loss) : to_(to), loss_(std::move(loss)) {}

    awaitable<> receive(sandbox::stream from, std::string_view bytes) override { return to_.receive(from, bytes); }

    awaitable<> show(std::string kind, std::string content) override
    {
        if (kind == "earlier") {
            const auto sentence =
                content.size() > longest_account ? std::string() : loss_(jsonrpc::read_object(content));
            if (sentence.empty()) co_return;
            kind = "stream";
            content = warning(sentence);
        }
        co_await to_.show(std::move(kind), std::move(content));
    }

    std::shared_ptr<kernel_listener> after_the_end() override { return to_.after_the_end(); }
    awaitable<json::object> ask(json::object question) override { return to_.ask(std::move(question)); }

private:
    kernel_listener& to_;
    words loss_;
};

}  // namespace

awaitable<kernel_answer> kernel_manager::converse(caller who, request_io& io, sandbox_record where, std::string name,
                                                  json::object message, std::size_t bytes, kernel_listener& to)
{
    auto work = converse_in_turn(std::move(who), io, where, std::move(name), std::move(message), bytes, to);
    return runs_.guarded(std::move(where), std::move(work));
}

awaitable<kernel_answer> kernel_manager::converse_in_turn(caller who, request_io& io, sandbox_record where,
                                                          std::string name, json::object message, std::size_t bytes,
                                                          kernel_listener& to)
{
    const auto one = kernel_of(where, name);
    const auto mine = std::make_shared<turn>(one);
    co_await wait_for_turn(mine, io);
    run_options options;
    options.background = true;
    std::chrono::milliseconds limit = longest_look;
    run_admission::slot place;
    tool_rights::ticket right;
    if (is_cell(message)) {
        right = runs_.sandboxes().tools().give(who, where.id);
        message["tools"] = right.text();
        limit = runs_.python_terms().time(options);
        place = co_await runs_.admit(who, io, options.background);
    }
    if (one->lives())
        one->why_ended.clear();
    else
        co_await revive(one, io, where);
    const auto process = one->process;
    kernel& revived = *one;
    listener_of_new_kernel listener(to,
                                    [&revived](const json::object& earlier) { return loss_before(revived, earlier); });
    auto answer = co_await process->converse(std::move(message), bytes, listener, limit,
                                             answers_for(std::move(who), io, std::move(where), &to));
    one->why_ended.clear();
    if (answer.lost && process->end()) answer.reason = lost_note(*process->end(), config_);
    if (answer.timed_out && answer.reason.empty())
        answer.reason = "The code took longer than SANDBOX_JOB_TIMEOUT allows and was interrupted.";
    co_return answer;
}

}  // namespace cmcp
