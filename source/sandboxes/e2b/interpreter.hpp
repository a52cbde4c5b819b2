#pragma once

#include "e2b/terms.hpp"
#include "http/exchange.hpp"
#include "kernels/kernel_manager.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cmcp::e2b {

inline constexpr std::uint16_t interpreter_port = 49999;

/// E2B's code interpreter: contexts on the kernels of a sandbox, whose cells stream what they show as lines of JSON.
/// The first context is the sandbox's own kernel. The kernels must outlive this. Io thread only.
class interpreter {
public:
    interpreter(kernel_manager& kernels, std::string home) : kernels_(kernels), home_(std::move(home)) {}

    /// A request for the port; nothing: it was answered.
    awaitable<std::optional<http_reply>> serve(exchange& x, caller who, sandbox_record where, const terms& of,
                                               std::string path);
    void forget(const std::string& sandbox) { contexts_.erase(sandbox); }

private:
    struct context {
        std::string id;
        std::string language;
        std::string folder;
        std::string kernel;  ///< its name; empty: the sandbox's own
        bool is_usual = false;
    };
    using contexts = std::vector<context>;

    contexts& contexts_of(const sandbox_record& where);
    context usual(const std::string& language) const;
    context& of_language(const sandbox_record& where, const std::string& language);
    context* find(const std::string& sandbox, const std::string& id);
    static json::object shown(const context& one);
    awaitable<http_reply> begin_context(sandbox_record where, json::object wish);
    awaitable<std::optional<http_reply>> execute(exchange& x, caller who, sandbox_record where, const terms& of,
                                                 json::object wish);
    awaitable<kernel_answer> run(caller who, sandbox_record where, context in, std::string code,
                                 json::object environment, json::object variables, kernel_listener& to);

    kernel_manager& kernels_;
    std::string home_;                          // of programs, inside
    std::map<std::string, contexts> contexts_;  // by sandbox
    unsigned next_ = 1;
};

/// A message of Jupyter's iopub channel as a line of E2B's stream; empty: it has none.
std::string line_of(std::string_view type, const json::object& content);

}  // namespace cmcp::e2b
