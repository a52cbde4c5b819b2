#include "async/with_deadline.hpp"
#include "mcp/revision.hpp"
#include "upstream/http_failure.hpp"
#include "upstream/http_link.hpp"

#include <algorithm>
#include <utility>

namespace cmcp {

// The part of http_link that finds out what a server speaks, and opens and ends sessions.

namespace {

constexpr auto time_to_discover = std::chrono::seconds(10);
constexpr auto time_to_close = std::chrono::milliseconds(1500);
constexpr std::size_t longest_session = 1024;
constexpr std::string_view newest_revision = to_string(revision::v2026_07_28);

bool is_stateless_revision(const json::value& name)
{
    return name.is_string() && std::string_view(name.get_string()) == newest_revision;
}

bool is_session_id(const std::string& text)
{
    return text.size() <= longest_session && std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

}  // namespace

awaitable<> http_link::open()
{
    while (opening_) co_await opened_.wait();
    if (closed_) throw upstream_problem("is not asked any more, because this server ends");
    if (!protocol_.empty()) co_return;
    struct opening {
        http_link& of;
        explicit opening(http_link& link) : of(link) { of.opening_ = true; }
        ~opening()
        {
            of.opening_ = false;
            of.opened_.notify();
        }
    };
    const opening mine(*this);
    co_await open_now();
}

// A server of the older revisions refuses server/discover, each in its own way, or does not answer it.
awaitable<> http_link::open_now()
{
    stateless_ = has_no_stream_ = false;
    if (!is_old_) stateless_ = co_await discover();
    if (stateless_) {
        protocol_ = newest_revision;
        co_return;
    }
    co_await initialize();
    is_old_ = true;
}

awaitable<bool> http_link::discover()
{
    upstream_request question{"server/discover"};
    const auto limit = std::min<std::chrono::milliseconds>(time_to_discover, entry_.timeout / 2);
    auto work = exchange(std::move(question), true);
    try {
        const auto answer = co_await with_deadline(std::move(work), limit);
        const auto* versions = answer.if_contains("supportedVersions");
        if (versions == nullptr || !versions->is_array()) co_return false;
        co_return std::ranges::any_of(versions->get_array(),
                                      [](const json::value& each) { return is_stateless_revision(each); });
    } catch (const http_failure& failure) {
        if (!may_be_other_era(failure.status)) throw;
        co_return false;
    } catch (const upstream_problem&) {
        co_return false;
    } catch (const deadline_exceeded&) {
        co_return false;
    }
}

awaitable<> http_link::initialize()
{
    session_.clear();
    upstream_request wanted{"initialize", initialize_params()};
    const auto answer = co_await exchange(std::move(wanted), false);
    auto agreed = agreed_revision(answer);
    protocol_ = agreed;
    auto work = notify(jsonrpc::encode_notification("notifications/initialized", {}));
    try {
        co_await std::move(work);
    } catch (...) {
        protocol_.clear();
        throw;
    }
}

void http_link::take_session(const std::string& id)
{
    if (!is_session_id(id)) throw upstream_problem("gave its session an id that cannot be sent back");
    session_ = id;
}

// Another call may have opened a new one meanwhile.
void http_link::forget_session(const std::string& id)
{
    if (session_ != id) return;
    session_.clear();
    protocol_.clear();
}

awaitable<> http_link::close()
{
    closed_ = true;
    tasks_.cancel_all();
    if (session_.empty()) co_return;
    auto work = end_session();
    try {
        co_await with_deadline(std::move(work), time_to_close);
    } catch (const std::runtime_error&) {
        // The server forgets the session by itself.
    }
    session_.clear();
    protocol_.clear();
}

awaitable<> http_link::end_session()
{
    auto message = post_of({});
    auto request = request_for(message);
    request.method = "DELETE";
    auto ticket = std::make_shared<egress_ticket>("upstream " + entry_.name, policy_, egress_limits{});
    co_await client_->get(std::move(ticket), std::move(request));
}

}  // namespace cmcp
