#include "mcp/request_register.hpp"

#include "jsonrpc/write_json.hpp"
#include "mcp/running_request.hpp"

#include <algorithm>
#include <vector>

namespace cmcp {

namespace {

bool listens(const running_request& request) { return request.method == "subscriptions/listen"; }

void check_session(const running_request& request, const session& from, std::size_t most)
{
    const bool in_use = std::any_of(from.in_flight.begin(), from.in_flight.end(),
                                    [&](const running_request* other) { return other->id == request.id; });
    if (in_use)
        throw rpc_error(rpc_code::invalid_request,
                        "Invalid request: `id` " + jsonrpc::write_json(request.id) + " is in use by a running request");
    const bool legacy = request.who && !is_modern(request.who->protocol);
    if (legacy && from.in_flight.size() >= most)
        throw rpc_error(rpc_code::server_busy,
                        "server busy: this session has " + std::to_string(most) + " requests running; try again later");
}

// A copy, because a request that ends leaves its session and the register.
void cancel_each(const std::vector<running_request*>& requests)
{
    std::vector<std::shared_ptr<running_request>> running;
    for (auto* each : requests) running.push_back(each->shared_from_this());
    for (const auto& each : running) each->cancel();
}

}  // namespace

void request_register::registration::leave()
{
    if (!in_) return;
    in_->registrations_.erase(in_->registrations_.iterator_to(*this));
    if (listens(*request_)) --in_->listening_;
    if (from_) std::erase(from_->in_flight, request_);
    in_ = nullptr;
    from_.reset();
}

void request_register::check_limits(const running_request& request, const session* from, std::string_view payer) const
{
    if (stopping_) throw rpc_error(rpc_code::server_error, "the server is stopping: no new requests are taken");
    // A ping must be answered by a busy server, too, because it tells whether the server is alive.
    const bool vital = request.method == "ping";
    const auto overload = vital || !overload_ ? 0 : overload_();
    if (overload != 0 && shares_.is_heavy(payer, overload))
        throw rpc_error(rpc_code::server_busy,
                        "server busy: requests wait too long, and yours are among those that take "
                        "most of its time; try again in a second");
    if (!vital && registrations_.size() - listening_ >= most_)
        throw rpc_error(rpc_code::server_busy,
                        "server busy: " + std::to_string(most_) + " requests are running; try again later");
    if (from) check_session(request, *from, most_per_session_);
}

void request_register::admit(running_request& request, std::shared_ptr<session> from, std::string_view payer)
{
    check_limits(request, from.get(), payer);
    registrations_.push_back(request.registration);
    request.registration.in_ = this;
    request.registration.request_ = &request;
    request.registration.from_ = std::move(from);
    if (listens(request)) ++listening_;
    if (request.registration.from_) request.registration.from_->in_flight.push_back(&request);
    request.life.on(request_life::input::admit);
}

std::vector<running_request*> request_register::all() const
{
    std::vector<running_request*> running;
    for (const auto& each : registrations_) running.push_back(each.request_);
    return running;
}

void request_register::cancel_all() { cancel_each(all()); }

void session::cancel_all() { cancel_each(in_flight); }

}  // namespace cmcp
