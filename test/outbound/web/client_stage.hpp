#pragma once

#include "async/blocking_pool.hpp"
#include "test/outbound/egress/egress_support.hpp"
#include "web/http_client.hpp"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace cmcp::test {

/// A web server on loopback and a client that may reach it.
struct client_stage {
    explicit client_stage(std::filesystem::path ca = {}) : client(io.get_executor(), std::move(ca))
    {
        client.unpack_on(pool);
    }

    asio::io_context io;
    blocking_pool pool;
    origin web{io};
    std::shared_ptr<const egress_policy> policy =
        rules({"*"}, {web.authority(), "localhost:" + std::to_string(web.port())});
    http_client client;
    std::vector<std::string> steps;

    fetch_reply get(const std::string& url, std::function<void(fetch_request&)> change = {})
    {
        fetch_request request;
        request.url = web_url::parse(url);
        request.max_bytes = 1 << 20;
        request.timeout = std::chrono::seconds(10);
        request.progress = [this](std::string text) { steps.push_back(std::move(text)); };
        if (change) change(request);
        auto ticket = std::make_shared<egress_ticket>("test", policy, egress_limits());
        return run_coroutine(io, client.get(std::move(ticket), std::move(request)));
    }
    std::string failure(const std::string& url, std::function<void(fetch_request&)> change = {})
    {
        try {
            get(url, std::move(change));
        } catch (const fetch_error& problem) {
            return problem.reason + ": " + problem.what();
        }
        return "no failure";
    }
};

}  // namespace cmcp::test
