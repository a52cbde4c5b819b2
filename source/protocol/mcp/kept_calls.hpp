#pragma once

#include "async/asio.hpp"
#include "jsonrpc/json.hpp"
#include "mcp/caller.hpp"
#include "mcp/tool.hpp"

#include <memory>
#include <optional>
#include <string>

namespace cmcp {

/// A call that its client gave an Idempotency-Key.
struct named_call {
    std::string principal, key;
    std::string request;    ///< what it asks for, as equal calls have it
    std::string sandbox{};  ///< the handle of the one that it is about and that keeps it; empty: none
};

/// Keeps calls with the sandboxes that they are about, so that they are known after a restart of the server, and to the
/// server that has the sandbox next.
class kept_calls {
public:
    virtual ~kept_calls() = default;

    struct place {
        std::string sandbox{};  ///< empty: none that is there
        std::optional<tool_result> refusal{};
    };
    /// The sandbox of a call with this `sandbox_id`, which may be a name; empty: the one that `about` says, of which a
    /// default one is made. A refusal: it cannot be known now.
    virtual awaitable<place> place_of(caller who, std::string sandbox_id, unnamed_subject about) = 0;

    using kept_result = std::shared_ptr<const json::object>;  ///< null: there is none, or it was too long

    struct known {
        enum class state {
            begins,  ///< it was not known, and is noted as one that has begun
            ended,
            has_begun,  ///< its end was never noted, or its result was too long
            other,      ///< the key is another call's
            full        ///< the sandbox keeps as many as it may
        };
        state is = state::begins;
        kept_result result{};  ///< of one that has ended
    };
    virtual awaitable<known> begin(named_call which) = 0;

    /// It has ended with this result. Nothing comes of it where the sandbox has gone meanwhile.
    virtual awaitable<> end(named_call which, kept_result result) = 0;

    /// It ended with a question to its caller (2026-07-28, input_required), so that the same call comes again and runs.
    virtual awaitable<> forget(named_call which) = 0;
};

}  // namespace cmcp
