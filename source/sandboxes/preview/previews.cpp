#include "preview/previews.hpp"

#include "async/pause.hpp"
#include "config/sandbox_settings.hpp"
#include "http/relay.hpp"
#include "http/router.hpp"
#include "limits/socket_memory.hpp"
#include "preview/preview_names.hpp"
#include "text/ascii.hpp"
#include "text/words.hpp"

#include <boost/asio/ip/tcp.hpp>

#include <memory>
#include <stdexcept>
#include <utility>

namespace cmcp {

using asio::ip::tcp;

namespace {

constexpr std::chrono::seconds patience_to_connect{5};
constexpr std::chrono::seconds patience_for_answer{300};

constexpr const char* link_ended = "This link has ended, or never was one; expose_port makes a new one.";

sandbox::cell_name cell_of(const std::string& owner, const std::string& sandbox) { return {owner, sandbox}; }

// The authority of "scheme://host:port".
std::string_view authority_of(std::string_view url)
{
    const auto mark = url.find("://");
    if (mark == std::string_view::npos) return {};
    const auto authority = url.substr(mark + 3);
    return authority.substr(0, authority.find('/'));
}

class port_rules final : public relay_rules {
public:
    port_rules(const http_request& from, std::string target, preview_view view)
        : from_(from), target_(std::move(target)), view_(std::move(view))
    {
    }

    relayed_request_head request() const override { return request_to_port(from_, target_, view_); }
    std::string head_of_answer(const relayed_answer_head& from) const override
    {
        return cmcp::head_of_answer(from, target_, view_);
    }
    std::string subject() const override { return "The program on this port"; }
    std::chrono::seconds patience() const override { return patience_for_answer; }

private:
    const http_request& from_;
    std::string target_;
    preview_view view_;
};

}  // namespace

previews::previews(asio::any_io_executor executor, const sandbox_settings& config, sandbox::backend& cells,
                   sandbox_manager& sandboxes, blocking_pool& pool)
    : executor_(executor), config_(config), cells_(cells), sandboxes_(sandboxes), pool_(pool), links_(executor)
{
}

std::string previews::url_of(const port_link& link, const caller& who) const
{
    const std::string& address = sandboxes_.address_for(who);
    return address.empty() ? address : cmcp::url_of(link, address, config_.preview_domain);
}

// The server's own name may lie beneath the domain, too.
bool previews::has_origin(std::string_view host) const
{
    return is_beneath(host, config_.preview_domain) &&
           !equal_ignoring_case(host, authority_of(sandboxes_.public_url()));
}

awaitable<std::vector<std::uint16_t>> previews::listening(sandbox_record where)
{
    auto cell = cell_of(where.owner, where.id);
    auto opened = co_await cells_.open_socket(std::move(cell), sandbox::cell_socket::statistics);
    if (!opened.socket) co_return std::vector<std::uint16_t>();
    auto work = [socket = std::make_shared<sandbox::opened_socket>(std::move(opened))] {
        return sandbox::listening_ports(socket->socket.get());
    };
    auto ports = co_await pool_.run(where.owner, std::move(work));
    std::erase_if(ports, [&](std::uint16_t port) { return sandboxes_.network().is_door(where, port); });
    co_return ports;
}

// A service that has just been started may not listen yet.
awaitable<std::optional<stream_socket>> previews::connect(port_link link, std::string& problem)
{
    constexpr std::chrono::milliseconds between_tries(100);
    for (;;) {
        auto socket = co_await connect_now(link, problem);
        if (socket || !sandboxes_.comes_up(link.sandbox)) co_return socket;
        co_await pause_for(between_tries);
    }
}

awaitable<std::optional<stream_socket>> previews::connect_now(port_link link, std::string& problem)
{
    problem.clear();
    const std::pair<sandbox::cell_socket, tcp::endpoint> places[] = {
        {sandbox::cell_socket::tcp4, {asio::ip::address_v4::loopback(), link.port}},
        {sandbox::cell_socket::tcp6, {asio::ip::address_v6::loopback(), link.port}}};
    const auto where = sandboxes_.store().find(link.owner, link.sandbox);
    const bool is_door = where && sandboxes_.network().is_door(*where, link.port);
    if (is_door) problem = "Port " + std::to_string(link.port) + " belongs to the sandbox's network; take another one.";
    if (is_door) co_return std::nullopt;
    for (const auto& [kind, place] : places) {
        auto cell = cell_of(link.owner, link.sandbox);
        auto opened = co_await cells_.open_socket(std::move(cell), kind);
        problem = opened.error;
        if (!opened.socket) break;
        boost::system::error_code error;
        stream_socket socket(executor_);
        socket.assign(place.protocol(), opened.socket.get(), error);
        if (error) continue;
        static_cast<void>(opened.socket.release());
        error = co_await connect_within(socket, place, patience_to_connect);
        if (!error) co_return std::optional(std::move(socket));
    }
    if (problem.empty()) problem = "Nothing answers on port " + std::to_string(link.port) + " of the sandbox.";
    problem += " Start the program that listens there, on 127.0.0.1 or 0.0.0.0, and load this again.";
    co_return std::nullopt;
}

awaitable<stream_socket> previews::enter(sandbox_record where, std::uint16_t port)
{
    std::string problem;
    port_link link{std::move(where.owner), std::move(where.id), port, 0, {}};
    auto socket = co_await connect(std::move(link), problem);
    if (!socket) throw std::runtime_error(problem);
    co_return std::move(*socket);
}

std::optional<previews::inner_page> previews::behind(const caller& who, const std::string& url)
{
    auto token = token_in(url, sandboxes_.address_for(who), config_.preview_domain);
    if (token.text.empty()) token = token_in(url, sandboxes_.public_url(), config_.preview_domain);
    const auto link = links_.find(token.text);
    if (!link || link->owner != who.principal || !may_use(who, link->sandbox)) return std::nullopt;
    auto where = sandboxes_.store().find(who.principal, link->sandbox);
    if (!where) return std::nullopt;
    return inner_page{std::move(*where), "http://localhost:" + std::to_string(link->port) + token.rest};
}

awaitable<> previews::sandbox_stopped(std::string id)
{
    const auto links = links_.of(id);
    if (!links.empty() && !sandboxes_.store().find(links.front().owner, id)) links_.withdraw_all(id);
    co_return;
}

std::optional<port_link> previews::link_for(const preview_request& wanted) const
{
    for (const std::string& token : wanted.tokens) {
        auto link = links_.find(token);
        if (!link) continue;
        const bool fits = !wanted.view.own_origin || is_label_of(wanted.label, *link);
        if (fits) return link;
    }
    return std::nullopt;
}

std::string previews::handle_of(const http_request& request) const
{
    if (const auto label = read_label(request.header("host").value_or(""), config_.preview_domain);
        label && !label->node.empty())
        return "sbx_" + label->node + "_" + label->digits;
    if (!request.path.starts_with(preview_folder)) return {};
    const auto token = split(std::string_view(request.path).substr(preview_folder.size()), '.');
    return token.size() > 1 ? std::string(token[1]) : std::string();
}

awaitable<> previews::serve(exchange& x)
{
    const http_request& request = x.request();
    auto wanted = read_preview_request(request, config_.preview_domain, sandboxes_.public_url());
    auto link = wanted ? link_for(*wanted) : std::nullopt;
    http_reply refusal = preview_problem(request, 404, link_ended);
    if (wanted && link) {
        auto early = answer_before(request, *wanted);
        if (!early) co_return co_await serve_link(x, std::move(*wanted), std::move(*link));
        refusal = std::move(*early);
    }
    co_await x.reply(std::move(refusal));
}

awaitable<> previews::serve_link(exchange& x, preview_request wanted, port_link link)
{
    wanted.view.port = link.port;
    wanted.view.knows_token = x.has_own_token();
    const http_request& request = x.request();
    const bool visits = request.method == "GET" || request.method == "HEAD";
    http_reply reply;
    if (wanted.brings_parameter && visits) {
        reply = lead_to_page(wanted, link.token, static_cast<long>(link.expires - sandbox_manager::now()));
        co_return co_await x.reply(std::move(reply));
    }
    std::string problem;
    try {
        co_await sandboxes_.leases().end_of_pause(link.sandbox);
        auto where = sandboxes_.store().find(link.owner, link.sandbox);
        if (!where) throw sandbox_error("NotFound", link_ended);
        auto connection = sandboxes_.enter(*where);
        if (!links_.use(link, connection)) throw sandbox_error("Busy", "This link has as many connections as it may.");
        auto work = pass(x, std::move(wanted), std::move(link));
        co_await sandbox_activities::run(connection, std::move(work));
        co_return;
    } catch (const sandbox_error& refused) {
        problem = refused.what();
        reply = preview_problem(request, refused.type == "Busy" ? 503 : 404, problem);
    }
    x.close_after();
    if (x.status() == 0) co_await x.reply(std::move(reply));
}

awaitable<bool> previews::pass(exchange& x, preview_request wanted, port_link link)
{
    std::string problem;
    auto socket = co_await connect(link, problem);
    const port_rules rules(x.request(), std::move(wanted.target), std::move(wanted.view));
    relay_end end;
    if (socket) {
        byte_stream to(*socket);
        end = co_await relay(x, to, rules);
        problem = std::move(end.failure);
    }
    if (problem.empty() || x.status() != 0) co_return true;
    auto page = preview_problem(x.request(), 502, problem);
    co_await x.reply(std::move(page));
    co_return false;
}

void add_preview_routes(router& routes, previews& shown)
{
    routes.add({.methods = {},
                .path = "/preview/*",
                .serve = [&shown](exchange& x) { return shown.serve(x); },
                .access = route_access::open,
                .body = route_body::streamed,
                .claims = [&shown](const http_request& by) { return shown.has_origin(by.header("host").value_or("")); },
                .handle = [&shown](const http_request& by) { return shown.handle_of(by); },
                .relays = true});
}

}  // namespace cmcp
