#include "async/with_deadline.hpp"
#include "egress/proxy_connection.hpp"

#include <chrono>

// The part of proxy_connection that speaks for a name.
namespace cmcp {

namespace {

using opened = client_opening::kind;

constexpr std::size_t longest_opening = 16 * 1024;  // it is looked at anew with each piece
constexpr std::size_t piece_of_opening = 4096;
constexpr std::chrono::milliseconds patience_with_silence{300}, longest_silence{10'000};

egress_verdict other_name(const egress_place& place, const host& said)
{
    return {false, "name",
            said.with_port(place.port) + " is refused: the connection was made to " + place.who.text() +
                ", and names another host. Connect to each host by its own name."};
}

egress_verdict no_name(const egress_place& place, const std::string& what)
{
    return {false, "name",
            place.who.with_port(place.port) + " is refused: " + what +
                ". TLS with a server name and HTTP/1 pass; other protocols do where the sandbox's network and "
                "SANDBOX_NETWORK_ALLOWED name the host with this port."};
}

std::optional<host> name_in(const client_opening& opening)
{
    try {
        return opening.name ? std::optional(read_host(*opening.name)) : std::nullopt;
    } catch (const bad_host&) {
        return std::nullopt;
    }
}

}  // namespace

awaitable<> proxy_connection::wait_for_bytes()
{
    co_await client_.async_wait(asio::ip::tcp::socket::wait_read, asio::use_awaitable);
}

// Where another protocol may be spoken, a client may wait for the server's first word.
awaitable<client_opening> proxy_connection::read_opening()
{
    if (from_client_.size() == 0) {
        const bool may_wait = ticket_->policy().names_port(named_->who, named_->port);
        const auto patience = may_wait ? patience_with_silence : longest_silence;
        bool silent = false;
        try {
            auto wait = wait_for_bytes();
            co_await with_deadline(std::move(wait), patience);
        } catch (const deadline_exceeded&) {
            silent = true;
        }
        if (silent) co_return client_opening{opened::other};
    }
    for (;;) {
        const auto bytes = from_client_.cdata();
        auto opening = look_at_opening({static_cast<const char*>(bytes.data()), bytes.size()});
        if (opening.is != opened::unfinished) co_return opening;
        if (bytes.size() >= longest_opening) co_return client_opening{opened::other};
        const auto room = from_client_.prepare(piece_of_opening);
        auto [failure, size] = co_await client_.async_read_some(room, as_tuple);
        if (failure) co_return opening;
        from_client_.commit(size);
        last_moved_ = clock::now();
    }
}

bool proxy_connection::may_open(const client_opening& opening)
{
    if (opening.is == opened::unfinished) return false;  // the client is gone
    egress_verdict verdict{true, {}, {}};
    host said = named_->who;
    if (opening.is == opened::tls) {
        const auto name = name_in(opening);
        if (!name) verdict = no_name(*named_, "its TLS handshake names no host");
        if (name && *name != named_->who) verdict = other_name(*named_, said = *name);
    }
    if (opening.is == opened::other && !ticket_->policy().names_port(named_->who, named_->port))
        verdict = no_name(*named_, "what its client says, if anything, is neither TLS nor HTTP/1");
    if (!verdict.allowed) egress_refuse(*ticket_, said, named_->port, verdict);
    return verdict.allowed;
}

awaitable<> proxy_connection::serve_named()
{
    // A client that waits for the server's first word would wait for nothing.
    if (const auto verdict = ticket_->policy().judge(named_->who, named_->port); !verdict.allowed)
        co_return egress_refuse(*ticket_, named_->who, named_->port, verdict);
    const auto opening = co_await read_opening();
    speaks_ = opening.is;
    if (!may_open(opening)) co_return co_await answer(403, "name", "");
    if (opening.is == opened::http) {
        for (bool more = true; more;) more = co_await serve_one();
        co_return;
    }
    bool reached = upstream_.has_value();
    if (!reached) reached = co_await reach(named_->who, named_->port);
    if (reached) co_await pass_both_ways();
}

// The one host of a request that came to a name's address; its words for others are refused.
std::optional<web_url> proxy_connection::target_of(const request_parser& request, std::string& problem) const
try {
    const auto& head = request.get();
    const std::string target(head.target());
    if (!named_) {
        auto url = web_url::parse(target);
        if (!url.secure) return url;
        problem = "only http:// addresses can be asked for; use CONNECT for others.";
        return std::nullopt;
    }
    const std::string written(head[boost::beast::http::field::host]);
    if (head.count(boost::beast::http::field::host) != 1) {
        problem = "A request names one Host.";
        return std::nullopt;
    }
    auto url = web_url::parse("http://" + written + (target.starts_with('/') ? target : "/"));
    auto absolute = target.starts_with('/') ? url : web_url::parse(target);
    if (target.starts_with('/')) absolute.target = target;  // as it is, also where a URL would be written otherwise
    const auto fits = [&](const web_url& each) { return each.who == named_->who && each.port == named_->port; };
    if (!fits(url) || !fits(absolute)) {
        const auto verdict = other_name(*named_, fits(url) ? absolute.who : url.who);
        egress_refuse(*ticket_, fits(url) ? absolute.who : url.who, named_->port, verdict);
        problem = verdict.sentence;
        return std::nullopt;
    }
    return absolute;
} catch (const bad_url& failure) {
    problem = failure.what();
    return std::nullopt;
}

}  // namespace cmcp
