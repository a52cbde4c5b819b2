#include "load/client_session.hpp"

#include "load/sse_session.hpp"
#include "load/stdio_session.hpp"
#include "load/streamable_session.hpp"

namespace cmcp::load {

void client_session::open()
{
    state_ = state::opening;
    began_ = clock::now();
    exchange_open_ = false;
    connect();
}

void client_session::opened()
{
    state_ = state::ready;
    host_.record.opening.record((clock::now() - began_).count());
    host_.opened(*this);
}

call_figures& client_session::figures()
{
    return role_ == role::slow ? host_.record.slow : host_.record.calls[kind_];
}

void client_session::call(std::size_t kind, clock::time_point due)
{
    kind_ = kind;
    due_ = due;
    call_id_ = next_id();
    error_.clear();
    answered_ = progressed_ = false;
    const auto& what = host_.options.calls[kind];
    auto text = request_text(what, host_.options.transport, call_id_, host_.options.progress);
    began_ = last_message_ = clock::now();
    ++figures().started;
    transmit(std::move(text), what);
}

void client_session::message(std::string_view text)
{
    auto seen = skim_message(text);
    if (kind_ == none) return;
    if (!seen.valid) return broken("bad message");
    if (!seen.method.empty()) {
        if (seen.method == "notifications/progress") progressed(clock::now());
        return;
    }
    if (seen.id != call_id_) return;
    if (seen.error_code) error_ = "JSON-RPC " + std::to_string(*seen.error_code);
    else if (seen.tool_error) error_ = "tool error";
    answered_ = true;
    settle_if_over();
}

void client_session::progressed(clock::time_point now)
{
    auto& into = figures();
    ++into.progress;
    if (!progressed_) into.first_progress.record((now - began_).count());
    else into.gap.record((now - last_message_).count());
    progressed_ = true;
    last_message_ = now;
}

void client_session::exchange_ended()
{
    exchange_open_ = false;
    settle_if_over();
}

void client_session::refused(std::string kind)
{
    error_ = std::move(kind);
    answered_ = true;
}

void client_session::settle_if_over()
{
    if (kind_ == none || !answered_ || exchange_open_) return;
    count(error_);
    host_.free(*this);
}

void client_session::count(const std::string& error)
{
    auto now = clock::now();
    auto& into = figures();
    if (error.empty()) {
        ++into.succeeded;
        into.latency.record((now - due_).count());
        into.service.record((now - began_).count());
    } else {
        ++into.errors[error];
    }
    kind_ = none;
}

void client_session::broken(const std::string& kind)
{
    shut();
    if (opening()) {
        state_ = state::closed;
        host_.failed_to_open(*this, kind);
        return;
    }
    if (state_ == state::closed) return;
    if (kind_ != none) count(kind);
    state_ = state::closed;
    host_.lost(*this);
}

void client_session::give_up(const std::string& kind)
{
    if (kind_ != none) count(kind);
}

void client_session::check_time(clock::time_point now)
{
    bool at_work = opening() || kind_ != none;
    if (at_work && now - began_ > host_.options.timeout) broken("timeout");
}

std::unique_ptr<client_session> make_session(session_host& host, role part)
{
    switch (host.options.transport) {
    case transport::sse: return std::make_unique<sse_session>(host, part);
    case transport::stdio: return std::make_unique<stdio_session>(host, part);
    case transport::streamable:
    case transport::stateless: return std::make_unique<streamable_session>(host, part);
    }
    return nullptr;
}

}  // namespace cmcp::load
