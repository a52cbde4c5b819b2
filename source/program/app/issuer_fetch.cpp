#include "app/issuer_fetch.hpp"

#include "config/config_error.hpp"
#include "config/settings.hpp"
#include "egress/egress_policy.hpp"
#include "web/http_client.hpp"

#include <memory>
#include <stdexcept>
#include <vector>

namespace cmcp {

namespace {

constexpr std::uint64_t most_bytes = 512 * 1024;
constexpr unsigned status_ok = 200;

/// The client and the policy of all fetches.
struct issuer_client {
    issuer_client(asio::any_io_executor executor, const settings& config, std::shared_ptr<const egress_policy> rules)
        : client(executor, config.web_ca_file), policy(std::move(rules))
    {
    }
    http_client client;
    std::shared_ptr<const egress_policy> policy;
};

egress_entry entry_for(const std::string& address)
{
    const auto url = web_url::parse(address);
    return egress_entry::parse(url.who.text() + ":" + std::to_string(url.port));
}

std::shared_ptr<const egress_policy> policy_for(const settings& config)
{
    std::vector<egress_entry> opened;
    for (const auto& issuer : config.auth_issuers) opened.push_back(entry_for(issuer));
    if (!config.auth_introspection_url.empty()) opened.push_back(entry_for(config.auth_introspection_url));
    return std::make_shared<egress_policy>(std::vector<egress_entry>{egress_entry{}}, std::move(opened));
}

// A redirect of a request with a secret leads nowhere.
fetch_request request_for(document_request wanted)
{
    fetch_request request;
    request.url = web_url::parse(wanted.url);
    request.accept = "application/json";
    request.headers = std::move(wanted.headers);
    request.max_redirects = wanted.form.empty() ? 3 : 0;
    request.form = std::move(wanted.form);
    request.max_bytes = most_bytes;
    request.timeout = std::chrono::seconds(10);
    request.timeout_setting = "the time for an authorization server";
    return request;
}

awaitable<std::string> fetch_document(std::shared_ptr<issuer_client> by, document_request wanted)
{
    auto request = request_for(std::move(wanted));
    const auto address = request.url.text();
    auto ticket = std::make_shared<egress_ticket>("authorization server", by->policy, egress_limits{});
    auto reply = co_await by->client.get(std::move(ticket), std::move(request));
    if (reply.status != status_ok)
        throw std::runtime_error(address + " answered with status " + std::to_string(reply.status));
    co_return std::move(reply.body);
}

}  // namespace

document_fetch make_issuer_fetch(asio::any_io_executor executor, const settings& config)
try {
    auto by = std::make_shared<issuer_client>(executor, config, policy_for(config));
    return [by](document_request wanted) { return fetch_document(by, std::move(wanted)); };
} catch (const bad_url& problem) {
    throw config_error(std::string("AUTH_ISSUERS or AUTH_INTROSPECTION_URL: ") + problem.what());
}

}  // namespace cmcp
