#pragma once

#include "async/blocking_pool.hpp"
#include "mcp/kept_calls.hpp"
#include "sandboxes/call_records.hpp"
#include "sandboxes/sandbox_manager.hpp"

#include <functional>
#include <string>

namespace cmcp {

/// Keeps calls with an Idempotency-Key in the folders of sandboxes (call_records).
class sandbox_calls final : public kept_calls {
public:
    /// Both must outlive this.
    sandbox_calls(sandbox_manager& sandboxes, blocking_pool& pool) : sandboxes_(sandboxes), pool_(pool) {}

    awaitable<place> place_of(caller who, std::string sandbox_id, unnamed_subject about) override;
    awaitable<known> begin(named_call which) override;
    awaitable<> end(named_call which, kept_result result) override;
    awaitable<> forget(named_call which) override;

private:
    using note = std::function<void(const call_records&, const named_call&)>;
    awaitable<bool> noted(named_call which, note how);  // false: it could not be noted
    awaitable<std::string> sandbox_of(caller who, std::string sandbox_id, unnamed_subject about);

    sandbox_manager& sandboxes_;
    blocking_pool& pool_;
};

}  // namespace cmcp
