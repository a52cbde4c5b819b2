#include "mcp/request_register.hpp"

#include "jsonrpc/write_json.hpp"

namespace cmcp {

namespace {

bool listens(const running_request& request) { return request.method == "subscriptions/listen"; }

void check_session(const session& who, const std::string& key, std::size_t most)
{
    if (who.in_flight.contains(key))
        throw rpc_error(rpc_code::invalid_request, "Invalid request: `id` " + key + " is in use by a running request");
    if (who.in_flight.size() >= most)
        throw rpc_error(rpc_code::server_busy, "server busy: this session has " + std::to_string(most) +
                                                   " requests running (MCP_MAX_REQUESTS_PER_SESSION); try again later");
}

}  // namespace

request_register::entry::entry(request_register& owner, std::shared_ptr<running_request> request,
                               std::shared_ptr<session> who, std::string key)
    : owner_(owner), request_(std::move(request)), who_(std::move(who)), key_(std::move(key))
{
    owner_.running_.insert(request_);
    if (listens(*request_)) ++owner_.listening_;
    if (who_) who_->in_flight[key_] = request_->ends;
}

request_register::entry::~entry()
{
    owner_.running_.erase(request_);
    if (listens(*request_)) --owner_.listening_;
    if (who_) who_->in_flight.erase(key_);
}

std::unique_ptr<request_register::entry> request_register::begin(std::string method, const json::value& id,
                                                                 std::shared_ptr<session> who,
                                                                 std::shared_ptr<canceller> ends,
                                                                 jsonrpc::request_ids ids)
{
    if (stopping_) throw rpc_error(rpc_code::server_error, "the server is stopping: no new requests are taken");
    // What tells whether the server is alive must be answered when it is busy, and costs next to nothing.
    const bool vital = method == "ping";
    if (!vital && overloaded_ && overloaded_())
        throw rpc_error(rpc_code::server_busy,
                        "server busy: requests wait too long (MCP_SHED_DELAY); try again in a second");
    if (!vital && running_.size() - listening_ >= most_)
        throw rpc_error(rpc_code::server_busy, "server busy: " + std::to_string(most_) +
                                                   " requests are running (MCP_MAX_REQUESTS); try again later");
    auto key = jsonrpc::write_json(id);
    if (who) check_session(*who, key, most_per_session_);
    auto request = std::make_shared<running_request>(std::move(ends));
    request->ids = std::move(ids);
    request->method = std::move(method);
    return std::make_unique<entry>(*this, std::move(request), std::move(who), std::move(key));
}

void request_register::cancel_all()
{
    // A copy: a request that ends takes itself out.
    const auto running = running_;
    for (const auto& request : running) request->cancel();
}

}  // namespace cmcp
