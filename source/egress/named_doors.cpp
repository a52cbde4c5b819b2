#include "egress/dns_message.hpp"
#include "egress/egress_connector.hpp"
#include "egress/egress_guard.hpp"
#include "text/ascii.hpp"

#include <algorithm>
#include <array>

// The part of egress_guard that serves networks in which addresses stand for names.
namespace cmcp {

namespace {

constexpr std::uint16_t name_service = 53;

std::optional<host> read_name_of(const std::string& text)
{
    try {
        return read_host(text);
    } catch (const bad_host&) {
        return std::nullopt;
    }
}

bool is_local(const std::string& name) { return name == "localhost" || name.ends_with(".localhost"); }

// A program asks again and again: one line is enough.
void note_refused_name(egress_ticket& ticket, const host& who, const egress_verdict& verdict)
{
    const auto is_it = [&](const egress_refusal& each) { return each.host == who.name && each.port == name_service; };
    if (std::ranges::none_of(ticket.refusals(), is_it)) egress_refuse(ticket, who, name_service, verdict);
}

}  // namespace

std::string egress_guard::answer_question(std::string_view message, name_addresses& names, const holder& of)
{
    const auto question = read_dns_question(message);
    if (!question) return {};
    if (!question->readable) return write_dns_answer(*question, dns::outcome::malformed);
    const auto ticket = of();
    const auto who = read_name_of(question->name);
    if (!ticket || !who || who->address) return write_dns_answer(*question, dns::outcome::no_such_name);
    const bool local = is_local(who->name);
    if (!local) {
        const auto verdict = ticket->policy().judge(*who);
        if (!verdict.allowed) note_refused_name(*ticket, *who, verdict);
        if (!verdict.allowed) return write_dns_answer(*question, dns::outcome::no_such_name);
    }
    std::optional<asio::ip::address> address;
    if (question->type == dns::a) address = local ? asio::ip::address_v4::loopback() : names.v4_of(who->name);
    if (question->type == dns::aaaa && names.has_v6())
        address = local ? asio::ip::address_v6::loopback() : names.v6_of(who->name);
    return write_dns_answer(*question, dns::outcome::done, address);
}

awaitable<> egress_guard::serve_names(asio::ip::udp::socket questions, std::shared_ptr<name_addresses> names, holder of)
{
    std::array<char, 2048> message{};
    asio::ip::udp::endpoint from;
    for (;;) {
        auto [failure, size] = co_await questions.async_receive_from(asio::buffer(message), from, as_tuple);
        if (failure == asio::error::operation_aborted) co_return;
        if (failure) continue;  // of an earlier answer that nobody took
        const std::string answer = answer_question({message.data(), size}, *names, of);
        if (!answer.empty()) co_await questions.async_send_to(asio::buffer(answer), from, as_tuple);
    }
}

awaitable<> egress_guard::serve_named_door(asio::ip::tcp::acceptor door, std::shared_ptr<name_addresses> names,
                                           holder of)
{
    return accept(std::move(door), [this, names = std::move(names), of = std::move(of)](asio::ip::tcp::socket client) {
        boost::system::error_code gone;
        const auto place = client.local_endpoint(gone);
        const auto name = gone ? std::nullopt : names->name_of(place.address());
        const auto who = name ? read_name_of(*name) : std::nullopt;
        const auto ticket = of();
        if (ticket && who) serve(std::move(client), *ticket, egress_place{*who, place.port()});
    });
}

}  // namespace cmcp
