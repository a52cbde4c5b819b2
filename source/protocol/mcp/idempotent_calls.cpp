#include "mcp/idempotent_calls.hpp"

#include "jsonrpc/json_size.hpp"
#include "jsonrpc/rpc_error.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace cmcp {

namespace {

constexpr std::size_t longest_key = 255;

}  // namespace

std::string read_idempotency_key(std::string_view field)
{
    const bool quoted = field.size() >= 2 && field.front() == '"' && field.back() == '"';
    if (quoted) field = field.substr(1, field.size() - 2);
    const auto fits = [](char c) { return c > ' ' && c < 0x7f && c != '"' && c != '\\'; };
    if (field.size() > longest_key || !std::ranges::all_of(field, fits) || (quoted && field.empty()))
        throw std::invalid_argument("Idempotency-Key must be of 1 to 255 visible characters, for example a UUID.");
    return std::string(field);
}

namespace {

[[noreturn]] void refuse_other()
{
    throw rpc_error(rpc_code::invalid_params,
                    "This Idempotency-Key was given to another call: give each call a key of its own.");
}

[[noreturn]] void refuse_without_result()
{
    json::object data{{"may_have_run", true}};
    throw rpc_error(rpc_code::server_error,
                    "The call of this Idempotency-Key has begun, and its result is not there: it was cancelled, its "
                    "server ended meanwhile, or its result was too long. Look at what it changes before you call with "
                    "another key.",
                    json::value(std::move(data)));
}

}  // namespace

void idempotent_calls::forget(const name& which)
{
    const auto at = known_.find(which);
    if (at == known_.end()) return;
    bytes_ -= at->second.bytes;
    known_.erase(at);
}

void idempotent_calls::forget_old()
{
    const auto now = clock::now();
    while (!ended_.empty() && (now - ended_.front().first > lifetime || bytes_ > most_bytes)) {
        forget(ended_.front().second);
        ended_.pop_front();
    }
}

awaitable<std::optional<json::object>> idempotent_calls::find(named_call wanted)
{
    std::optional<json::object> result;
    const auto which = name_of(wanted);
    for (;;) {
        forget_old();
        const auto at = known_.find(which);
        if (at == known_.end()) co_return result;
        if (at->second.request != wanted.request) refuse_other();
        // Its sandbox knows more, which may have been elsewhere since.
        if (at->second.ended && !wanted.sandbox.empty()) co_return result;
        if (at->second.ended && !at->second.result) refuse_without_result();
        if (at->second.ended) result = *at->second.result;
        if (result) co_return result;
        co_await changed_.wait();
    }
}

idempotent_calls::running::running(idempotent_calls& in, named_call which) : in_(in.lives_), call_(std::move(which))
{
    const auto name = name_of(call_);
    if (in.known_.contains(name)) std::erase_if(in.ended_, [&](const auto& each) { return each.second == name; });
    in.forget(name);
    in.known_[name] = {call_.request};
}

idempotent_calls::running::~running()
{
    const auto in = in_.lock();
    if (!in) return;
    if (!is_stored_ && began)
        (*in)->end(name_of(call_));
    else if (!is_stored_)
        (*in)->forget(name_of(call_));
    (*in)->changed_.notify();
}

// Null: none keeps it.
kept_calls* idempotent_calls::running::sandbox() const
{
    const auto in = in_.lock();
    return in && !call_.sandbox.empty() ? (*in)->sandboxes_.get() : nullptr;
}

awaitable<std::optional<json::object>> idempotent_calls::running::begin()
{
    std::optional<json::object> result;
    auto* const keeper = sandbox();
    if (keeper == nullptr) co_return result;
    const auto known = co_await keeper->begin(call_);
    using state = kept_calls::known::state;
    if (known.is == state::other) refuse_other();
    if (known.is == state::has_begun) refuse_without_result();
    if (known.is == state::full)
        throw rpc_error(rpc_code::server_error,
                        "The sandbox keeps as many calls with an Idempotency-Key as it may: call again in ten minutes, "
                        "or without a key.");
    if (known.is == state::ended) result = *known.result;
    co_return result;
}

idempotent_calls::entry& idempotent_calls::end(const name& which)
{
    auto& of = known_[which];
    of.ended = true;
    ended_.emplace_back(clock::now(), which);
    return of;
}

awaitable<> idempotent_calls::running::keep(json::object result)
{
    kept_calls::kept_result kept;
    if (!jsonrpc::is_larger(result, longest_result)) kept = std::make_shared<const json::object>(std::move(result));
    if (auto* const keeper = sandbox()) co_await keeper->end(call_, kept);
    const auto in = in_.lock();
    if (!in) co_return;
    auto& of = (*in)->end(name_of(call_));
    is_stored_ = true;
    if (kept) of.bytes = jsonrpc::json_size(*kept);
    (*in)->bytes_ += of.bytes;
    of.result = std::move(kept);
    (*in)->forget_old();
}

awaitable<> idempotent_calls::running::forget()
{
    if (auto* const keeper = sandbox()) co_await keeper->forget(call_);
    began = false;
}

}  // namespace cmcp
