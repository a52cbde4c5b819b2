#include "transport/admin_entrance.hpp"

#include "async/deadline_wheel.hpp"

#include <unistd.h>

namespace cmcp {

namespace {

login_ptr administrator()
{
    auto who = std::make_shared<login>();
    who->credential = "admin socket";
    who->scopes = scope_set::all();
    return who;
}

settings without_proxies(settings config)
{
    config.trusted_proxies.clear();
    return config;
}

}  // namespace

admin_entrance::admin_entrance(asio::io_context& io, bound_address socket, const settings& of_server,
                               gatekeeper& logins, std::shared_ptr<memory_budget> memory)
    : config(without_proxies(of_server)),
      by_socket(logins, administrator()),
      guard(config, by_socket),
      listens(io, std::move(socket)),
      context(config, guard, routes, std::make_shared<deadline_wheel>(io.get_executor()), std::move(memory)),
      connections(io.get_executor())
{
}

admin_entrance::~admin_entrance() { stop(); }

void admin_entrance::stop()
{
    if (std::exchange(stopped_, true)) return;
    listens.close();
    context.stopping = true;
    context.close_idle();
    ::unlink(listens.address().path().c_str());
}

}  // namespace cmcp
