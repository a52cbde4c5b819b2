#include "upstream/upstream_servers.hpp"

#include "config/settings.hpp"
#include "sandboxes/sandbox_runner.hpp"
#include "upstream/http_link.hpp"
#include "upstream/stdio_link.hpp"
#include "upstream/upstream_server.hpp"
#include "upstream/upstream_text.hpp"

#include <algorithm>
#include <utility>

namespace cmcp {

namespace {

constexpr std::chrono::seconds patience_with_lists{10};

}  // namespace

upstream_servers::upstream_servers(asio::any_io_executor executor, const settings& config, sandbox::backend& backend,
                                   blocking_pool& pool, sandbox_runner* runs)
{
    if (config.upstreams.empty()) return;
    const auto client = std::make_shared<http_client>(executor, config.web_ca_file);
    client->unpack_on(pool);
    for (const auto& entry : config.upstreams) {
        std::shared_ptr<upstream_link> link;
        if (entry.url.empty())
            link = std::make_shared<stdio_link>(executor, entry, backend, runs, principal);
        else
            link = std::make_shared<http_link>(executor, entry, client, pool);
        servers_.push_back(std::make_shared<upstream_server>(executor, entry, std::move(link), pool));
    }
}

upstream_servers::~upstream_servers() = default;

std::vector<std::shared_ptr<upstream_server>> upstream_servers::servers_of(const std::string& who) const
{
    auto all = servers_;
    std::erase_if(all, [&](const auto& each) { return !each->entry().serves(who); });
    return all;
}

// All are asked at once: the first loop begins, the second one waits for them together.
awaitable<std::vector<upstream_tool>> upstream_servers::tools(std::string who)
{
    const auto servers = servers_of(who);
    for (const auto& each : servers) each->begin_to_know_tools();
    std::vector<upstream_tool> all;
    for (const auto& each : servers) {
        co_await each->wait_for_tools(patience_with_lists);
        all.insert(all.end(), each->tools().begin(), each->tools().end());
    }
    co_return all;
}

awaitable<std::vector<std::shared_ptr<const json::object>>> upstream_servers::described_tools(std::string who)
{
    const auto servers = servers_of(who);
    for (const auto& each : servers) each->begin_to_know_tools();
    std::vector<std::shared_ptr<const json::object>> all;
    for (const auto& each : servers) {
        co_await each->wait_for_tools(patience_with_lists);
        for (const auto& tool : each->tools()) all.push_back(tool.described);
    }
    co_return all;
}

std::shared_ptr<upstream_server> upstream_servers::server_for(const std::string& who, const std::string& name) const
{
    const auto is_it = [&](const auto& each) { return each->entry().name == name && each->entry().serves(who); };
    const auto place = std::ranges::find_if(servers_, is_it);
    return place == servers_.end() ? nullptr : *place;
}

awaitable<std::optional<bool>> upstream_servers::reads_only(std::string who, std::string server, std::string tool)
{
    const auto one = server_for(who, server);
    if (!one) co_return std::nullopt;
    one->begin_to_know_tools();
    co_await one->wait_for_tools(patience_with_lists);
    const auto* known = one->find(tool);
    if (known == nullptr) co_return std::nullopt;
    co_return known->read_only;
}

awaitable<json::object> upstream_servers::call(std::string who, std::string server, std::string tool,
                                               json::object arguments, upstream_progress_handler on_progress)
{
    const auto wanted = server_for(who, server);
    if (!wanted) throw upstream_problem("There is no upstream server \"" + shown_line(server, 64) + "\".");
    auto result = co_await wanted->call(std::move(tool), std::move(arguments), std::move(on_progress));
    co_return result;
}

std::vector<upstream_complaint> upstream_servers::problems(const std::string& who) const
{
    std::vector<upstream_complaint> all;
    for (const auto& each : servers_of(who))
        for (auto& problem : each->problems()) all.push_back({each->entry().name, std::move(problem)});
    return all;
}

std::vector<upstream_state> upstream_servers::states() const
{
    std::vector<upstream_state> all;
    for (const auto& each : servers_) all.push_back(each->state());
    return all;
}

awaitable<> upstream_servers::stop()
{
    for (const auto& each : servers_) co_await each->close();
}

}  // namespace cmcp
