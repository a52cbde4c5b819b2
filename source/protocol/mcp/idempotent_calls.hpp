#pragma once

#include "async/asio.hpp"
#include "async/event.hpp"
#include "jsonrpc/json.hpp"
#include "mcp/kept_calls.hpp"

#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cmcp {

/// Calls of tools that their clients gave an Idempotency-Key (draft-ietf-httpapi-idempotency-key-header): a call with
/// the same key is answered with the result of the first one, for ten minutes, and does not run. Calls that are about a
/// sandbox are kept with it, the others in the memory of this server. Io thread only.
class idempotent_calls {
public:
    using clock = event::clock;
    static constexpr std::chrono::minutes lifetime{10};
    static constexpr std::size_t most_bytes = 64 << 20;        ///< of all results in memory
    static constexpr std::size_t longest_result = 256 * 1024;  ///< longer ones are not kept

    void keep_with(std::unique_ptr<kept_calls> sandboxes) { sandboxes_ = std::move(sandboxes); }
    kept_calls* sandboxes() const { return sandboxes_.get(); }  ///< null: no sandbox keeps calls

    /// The result of an equal call, for whose end it waits; nothing: this one is to begin(). Throws rpc_error: the key
    /// is another call's, or the result of the first one is not there any more.
    awaitable<std::optional<json::object>> find(named_call wanted);

    /// The call is under way from now on. Where it ends before the tool `began`, a later one runs.
    class running {
    public:
        running(idempotent_calls& in, named_call which);
        running(const running&) = delete;
        running& operator=(const running&) = delete;
        ~running();

        /// As find(), of what its sandbox has kept. Nothing: the sandbox has noted that it begins.
        awaitable<std::optional<json::object>> begin();
        awaitable<> keep(json::object result);
        awaitable<> forget();  ///< it ended with a question to its caller, and will come again

        bool began = false;

    private:
        kept_calls* sandbox() const;

        std::weak_ptr<idempotent_calls*> in_;
        named_call call_;
        bool is_stored_ = false;
    };

    idempotent_calls() = default;
    idempotent_calls(const idempotent_calls&) = delete;
    idempotent_calls& operator=(const idempotent_calls&) = delete;

private:
    using name = std::pair<std::string, std::string>;  // principal, key
    static name name_of(const named_call& call) { return {call.principal, call.key}; }
    struct entry {
        std::string request;
        bool ended = false;
        kept_calls::kept_result result{};
        std::size_t bytes = 0;
    };
    entry& end(const name& which);
    void forget_old();
    void forget(const name& which);

    std::unique_ptr<kept_calls> sandboxes_;
    std::map<name, entry> known_;
    std::deque<std::pair<clock::time_point, name>> ended_;  // the oldest first
    std::size_t bytes_ = 0;
    event changed_;
    std::shared_ptr<idempotent_calls*> lives_ = std::make_shared<idempotent_calls*>(this);
};

/// Of a client's header field: a text, or a string of RFC 8941. Empty: there is none. Throws std::invalid_argument with
/// what is allowed.
std::string read_idempotency_key(std::string_view field);

}  // namespace cmcp
