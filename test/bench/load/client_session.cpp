#include "load/client_session.hpp"

#include "load/failure.hpp"
#include "load/sse_session.hpp"
#include "load/stdio_session.hpp"
#include "load/streamable_session.hpp"

#include <utility>

namespace cmcp::load {

namespace {

std::string with_blank(const std::string& word) { return word.empty() ? word : " " + word; }

}  // namespace

void client_session::open()
{
    state_ = state::opening;
    revision_ = offered_revision();
    began_ = clock::now();
    exchange_open_ = false;
    connect();
}

void client_session::leave()
{
    shut();
    state_ = state::closed;
}

void client_session::opened()
{
    state_ = state::ready;
    host_.record.opening.record((clock::now() - began_).count());
    host_.opened(*this);
}

call_figures& client_session::figures() { return role_ == role::slow ? host_.record.slow : host_.record.calls[kind_]; }

void client_session::call(std::size_t kind, clock::time_point due) { call(kind, host_.options.calls[kind], due); }

void client_session::call(std::size_t kind, const operation& what, clock::time_point due)
{
    kind_ = kind;
    due_ = due;
    call_id_ = next_id();
    error_ = {"no answer", {}};
    served_by_.clear();
    output_end_[0] = output_end_[1] = output_bytes_ = 0;
    output_missing_ = output_again_ = false;
    answered_ = progressed_ = false;
    auto text = request_text(what, host_.options.transport, call_id_, host_.options.progress);
    began_ = last_message_ = clock::now();
    ++figures().started;
    transmit(std::move(text), what);
}

std::string_view client_session::offered_revision() const
{
    if (!host_.options.revision.empty()) return host_.options.revision;
    return newest_revision(host_.options.transport);
}

bool client_session::agreed(std::string_view answer)
{
    auto seen = skim_message(answer);
    if (seen.result.empty()) {
        broken({"initialize refused", failure_text(answer)});
        return false;
    }
    revision_ = agreed_revision(seen.result);
    if (revision_.empty() || revision_.find_first_of("\r\n\\") != std::string::npos) {
        broken({"initialize refused", "its answer names no protocol revision"});
        return false;
    }
    if (host_.options.revision.empty() || revision_ == host_.options.revision) return true;
    broken({"another revision", "the server answers " + revision_ + ", --revision asks for " + host_.options.revision});
    return false;
}

void client_session::message(std::string_view text)
{
    auto seen = skim_message(text);
    if (kind_ == none) return;
    if (!seen.valid) return broken({"bad message", one_line(text)});
    if (!seen.method.empty()) {
        if (seen.method == "notifications/progress") progressed(skim_progress(seen.params), clock::now());
        return;
    }
    if (seen.id != call_id_) return;
    failure unfit = host_.answered(*this, text);
    error_ = judged(seen, text);
    if (error_.kind.empty()) error_ = std::move(unfit);
    answered_ = true;
    settle_if_over();
}

failure client_session::judged(const message_skim& answer, std::string_view text)
{
    failure why;
    bool tool = !host_.options.calls[kind_].tool.empty();
    if (answer.error_code)
        why.kind = "JSON-RPC " + std::to_string(*answer.error_code);
    else if (answer.result.empty())
        why.kind = "no result";
    else if (answer.tool_error)
        why.kind = "tool error";
    else if (tool && !host_.options.allow_nonzero && tells_of_failed_run(answer.result))
        why.kind = "tool failed";
    else if (const auto fault = fault_of_output(); !fault.empty())
        return {fault, {}};
    if (answer.tool_error || why.kind == "tool failed") why.kind.append(with_blank(error_type(text)));
    if (!why.kind.empty() && !figures().errors.has(why.kind)) why.text = failure_text(text);
    return why;
}

// All progress comes before the answer.
std::string client_session::fault_of_output() const
{
    if (output_again_) return "output out of order";
    const auto wanted = host_.wanted_output(*this);
    const bool is_short = output_missing_ || (wanted != 0 && output_bytes_ < wanted);
    if (is_short) return "output is missing";
    return wanted != 0 && output_bytes_ > wanted ? "too much output" : "";
}

// A heartbeat is no output, so it counts neither as first progress nor as a gap.
void client_session::progressed(const progress_skim& piece, clock::time_point now)
{
    auto& into = figures();
    if (!piece.output) {
        ++into.heartbeats;
        return;
    }
    ++into.progress;
    into.output_bytes += piece.bytes;
    output_bytes_ += piece.bytes;
    if (!progressed_)
        into.first_progress.record((now - began_).count());
    else
        into.gap.record((now - last_message_).count());
    progressed_ = true;
    last_message_ = now;
    if (!piece.offset) return;
    auto& end = output_end_[piece.stderr_stream ? 1 : 0];
    if (*piece.offset > end) ++into.output_gaps;
    output_missing_ = output_missing_ || *piece.offset > end;
    output_again_ = output_again_ || *piece.offset < end;
    end = *piece.offset + piece.bytes;
}

void client_session::exchange_ended()
{
    exchange_open_ = false;
    settle_if_over();
}

void client_session::refused(const http_answer& answer)
{
    if (kind_ == none) return;
    error_ = figures().errors.has(answer.kind()) ? failure{answer.kind(), {}} : answer.why();
    answered_ = true;
}

// The name goes to a terminal.
void client_session::served_by(std::string_view name)
{
    constexpr std::size_t longest_name = 60;
    if (!name.empty()) served_by_ = one_line(name.substr(0, longest_name));
}

void client_session::settle_if_over()
{
    if (kind_ == none || !answered_ || exchange_open_) return;
    count(error_);
    host_.free(*this);
}

void client_session::count(const failure& error)
{
    auto now = clock::now();
    auto& into = figures();
    bool recent = role_ != role::slow;
    if (error.kind.empty()) {
        ++into.succeeded;
        into.latency.record((now - due_).count());
        into.service.record((now - began_).count());
        if (recent) host_.record.recent.latency.record((now - due_).count());
        if (recent) host_.record.recent.by_call[kind_].record((now - due_).count());
        host_.record.recent.succeeded += recent;
    } else {
        into.errors.add(error);
        host_.record.recent.failed += recent;
    }
    if (recent) host_.record.count_at(server_number_, served_by_, error, (now - due_).count());
    kind_ = none;
}

void client_session::broken(const failure& why)
{
    shut();
    if (kind_ != none) error_ = why;
    if (opening()) {
        state_ = state::closed;
        host_.failed_to_open(*this, why);
        return;
    }
    if (state_ == state::closed) return;
    if (kind_ != none) count(why);
    state_ = state::closed;
    host_.lost(*this, why);
}

void client_session::give_up(const std::string& kind)
{
    if (kind_ != none) count({kind, {}});
}

void client_session::check_time(clock::time_point now)
{
    bool at_work = opening() || kind_ != none;
    if (at_work && now - began_ > host_.options.timeout) broken({"timeout", {}});
}

std::unique_ptr<client_session> make_session(session_host& host, role kind, std::size_t home)
{
    switch (host.options.transport) {
        case transport::sse:
            return std::make_unique<sse_session>(host, kind, home);
        case transport::stdio:
            return std::make_unique<stdio_session>(host, kind, home);
        case transport::streamable:
        case transport::stateless:
            return std::make_unique<streamable_session>(host, kind, home);
    }
    return nullptr;
}

}  // namespace cmcp::load
