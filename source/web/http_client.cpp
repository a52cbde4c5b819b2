#include "web/http_client.hpp"

#include "web/fetch.hpp"

#include <utility>

namespace cmcp {

http_client::http_client(asio::any_io_executor executor, std::filesystem::path extra_ca)
    : pool_(std::make_shared<pool>(executor, std::move(extra_ca)))
{
}

http_client::~http_client() { pool_->clear(); }

awaitable<fetch_reply> http_client::get(std::shared_ptr<egress_ticket> ticket, fetch_request request)
{
    fetch one(pool_, std::move(ticket), std::move(request));
    auto reply = co_await one.run();
    co_return reply;
}

}  // namespace cmcp
