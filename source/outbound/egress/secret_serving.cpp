#include "egress/secret_exchange.hpp"

namespace cmcp {

bool proxy_connection::has_secrets() const
{
    return ticket_->secrets() != nullptr && ticket_->secrets()->at(target_->who, target_->port) != nullptr;
}

std::string proxy_connection::plain_problem(const host& who, std::uint16_t port) const
{
    if (ticket_->secrets() == nullptr || !ticket_->secrets()->concerns(who)) return {};
    return (port == 0 ? who.text() : who.with_port(port)) +
           " is refused without TLS: a secret of this sandbox is for this host; use https://" + who.text() + ".";
}

// Another protocol at the port of a secret could not be looked into.
awaitable<> proxy_connection::serve_with_secrets(client_opening::kind is)
{
    if (is == client_opening::kind::tls) {
        secret_exchange exchange(*this);
        co_return co_await exchange.run();
    }
    std::string problem = plain_problem(target_->who, target_->port);
    co_await refuse("secret", std::move(problem));
}

}  // namespace cmcp
