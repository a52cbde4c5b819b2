#include "web/connection_pool.hpp"

#include "egress/tls_trust.hpp"

namespace cmcp {
namespace {

constexpr std::size_t most_idle = 32;
constexpr auto longest_idle = std::chrono::seconds(20);

}  // namespace

connection_pool::connection_pool(asio::any_io_executor executor, std::filesystem::path extra_ca)
    : extra_ca_(std::move(extra_ca)), reaper_(executor)
{
    if (!extra_ca_.empty()) trust();  // a bad file stops the start
}

// Reading the system's certificates takes some milliseconds, so it waits for the first use.
boost::asio::ssl::context& connection_pool::trust()
{
    if (!trust_) trust_ = std::make_unique<boost::asio::ssl::context>(make_client_context(extra_ca_));
    return *trust_;
}

std::unique_ptr<http_stream> connection_pool::take(const egress_ticket& ticket, const web_url& to)
{
    for (auto at = idle_.begin(); at != idle_.end();) {
        if (at->policy != &ticket.policy() || at->origin != to.origin()) {
            ++at;
            continue;
        }
        auto stream = std::move(at->stream);
        at = idle_.erase(at);
        if (stream->is_quiet()) return stream;
    }
    return nullptr;
}

void connection_pool::give_back(const egress_ticket& ticket, const web_url& to, std::unique_ptr<http_stream> stream)
{
    stream->used_before = true;
    stream->idle_since = std::chrono::steady_clock::now();
    idle_.push_back({&ticket.policy(), to.origin(), std::move(stream)});
    if (idle_.size() > most_idle) idle_.pop_front();
    if (idle_.size() == 1) close_old();
}

void connection_pool::close_old()
{
    const auto now = std::chrono::steady_clock::now();
    while (!idle_.empty() && idle_.front().stream->idle_since + longest_idle <= now) idle_.pop_front();
    if (idle_.empty()) return;
    reaper_.expires_at(idle_.front().stream->idle_since + longest_idle);
    reaper_.async_wait([weak = weak_from_this()](boost::system::error_code failure) {
        const auto me = weak.lock();
        if (me && !failure) me->close_old();
    });
}

void connection_pool::clear()
{
    idle_.clear();
    reaper_.cancel();
}

}  // namespace cmcp
