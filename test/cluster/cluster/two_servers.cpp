#include "test/cluster/cluster/two_servers.hpp"

#include "cluster/cluster_routes.hpp"
#include "config/settings.hpp"
#include "http/member_caller.hpp"

#include <csignal>

namespace cmcp::test {

namespace {

json::object owner_schema()
{
    return json::parse(R"({"type":"object","properties":{"sandbox_id":{"type":"string","x-mcp-header":"Sandbox-Id"},)"
                       R"("text":{"type":"string"}}})")
        .as_object();
}

class owned_tool : public tool {
public:
    owned_tool(std::string name, std::string node, std::atomic<int>& counts) : node_(std::move(node)), counts_(counts)
    {
        definition_.name = std::move(name);
        definition_.description = "Fixture.";
        definition_.input_schema = owner_schema();
        definition_.needs = scope::read;
    }

    const tool_definition& definition() const override { return definition_; }

protected:
    tool_definition definition_;
    std::string node_;
    std::atomic<int>& counts_;
};

class whose_tool final : public owned_tool {
    using owned_tool::owned_tool;
    awaitable<tool_result> call(tool_context& context, json::object arguments) override
    {
        ++counts_;
        tool_result result;
        result.structured["node"] = node_;
        result.structured["principal"] = context.who.principal;
        result.structured["text"] = arguments.contains("text") ? arguments.at("text") : json::value("");
        std::string message(result.structured["text"].as_string());
        co_await context.io.progress(1, std::nullopt, std::move(message));
        co_return result;
    }
};

class waits_tool final : public owned_tool {
    using owned_tool::owned_tool;
    awaitable<tool_result> call(tool_context&, json::object) override
    {
        struct mark {
            explicit mark(std::atomic<int>& all) : counts(all) { ++counts; }
            ~mark() { --counts; }
            mark(const mark&) = delete;
            mark& operator=(const mark&) = delete;
            std::atomic<int>& counts;
        } running(counts_);
        const auto executor = co_await asio::this_coro::executor;
        asio::steady_timer never(executor, asio::steady_timer::time_point::max());
        co_await never.async_wait(asio::use_awaitable);
        co_return tool_result();
    }
};

class places_tool final : public owned_tool {
public:
    places_tool(std::string node, std::atomic<int>& counts) : owned_tool("places", std::move(node), counts)
    {
        definition_.gathers = {"places"};
    }
    awaitable<tool_result> call(tool_context&, json::object) override
    {
        tool_result result;
        result.structured["places"] = json::array{json::string(node_)};
        co_return result;
    }
};

}  // namespace

awaitable<json::object> administration_of_one_run::runs(admin_viewer by)
{
    json::object answer;
    json::array& rows = answer["runs"].emplace_array();
    if (by.sees("ann")) rows.push_back({{"id", id_}, {"principal", "ann"}});
    co_return answer;
}

awaitable<bool> administration_of_one_run::end_run(admin_viewer by, std::string id)
{
    if (id != id_ || !by.sees("ann")) co_return false;
    const std::lock_guard hold(lock_);
    ended_by_ = by.principal;
    co_return true;
}

std::string administration_of_one_run::ended_by() const
{
    const std::lock_guard hold(lock_);
    return ended_by_;
}

member_server::member_server(member_settings config, bound_address entrance, parts more)
    : config_(std::move(config)),
      parts_(std::move(more)),
      administration_(config_.sandbox_node),
      entrance_(std::move(entrance)),
      entrance_port_(entrance_->port()),
      server_(std::make_unique<http_fixture>(config_, *this))
{
}

http_parts member_server::add(asio::io_context& io, server_core& core)
{
    const auto nothing = [] { return json::object(); };
    reported_by_server own{limits_, {[](const std::string&) { return json::object(); }, {}, {}}, nothing};
    cluster_ = std::make_unique<cluster>(io.get_executor(), config_, std::move(own), parts_.moving);
    core.tools().add(std::make_unique<whose_tool>("whose", config_.sandbox_node, calls_));
    core.tools().add(std::make_unique<waits_tool>("waits", config_.sandbox_node, waits_));
    core.tools().add(std::make_unique<places_tool>(config_.sandbox_node, calls_));
    cluster_->all.put_all(config_.others);
    cluster_->join(core);
    http_parts to;
    cluster_->join(to);
    to.administration = &administration_;
    if (parts_.routes) to.routes = [this](router& routes, const route_means&) { parts_.routes(routes); };
    to.admin_routes = [this](router& routes, const admin_pages_ptr& self) {
        add_cluster_routes(routes, self, cluster_.get());
    };
    to.node = config_.sandbox_node;
    return to;
}

void member_server::before_start(asio::io_context& io, http_server& server)
{
    server.admit_members_at(io, std::move(*entrance_));
}

std::map<std::string, bound_address> entrances_of(std::initializer_list<std::string> names)
{
    std::map<std::string, bound_address> all;
    for (const auto& name : names) all.emplace(name, bound_address("127.0.0.1", 0, true));
    return all;
}

// TLS may write to a server that has just gone, as in the program, which ignores the signal.
member_papers::member_papers(const std::map<std::string, bound_address>& entrances)
    : authority(files.authority("ca", "the members"))
{
    std::signal(SIGPIPE, SIG_IGN);
    for (const auto& [name, entrance] : entrances) {
        ports_[name] = entrance.port();
        own_[name] = files.signed_by(authority, name, name, "DNS:" + name);
    }
}

two_servers::two_servers(std::map<std::string, bound_address> entrances) : member_papers(entrances)
{
    one = std::make_unique<member_server>(settings_of("n1"), std::move(entrances.at("n1")));
    two = std::make_unique<member_server>(settings_of("n2"), std::move(entrances.at("n2")));
}

member_settings member_papers::settings_of(const std::string& name) const
{
    member_settings config{http_fixture::quick_settings()};
    config.cluster_etcd = {"http://127.0.0.1:1"};
    config.cluster_prefix = "/of two servers/";
    config.cluster_listen = "127.0.0.1:" + std::to_string(ports_.at(name));
    for (const auto& [other, port] : ports_)
        config.others.push_back({config.cluster_prefix + "member/" + other,
                                 R"({"host":"127.0.0.1","port":)" + std::to_string(port) + "}", 1, 1, 1});
    config.sandbox_node = name;
    config.cluster_ca = authority.certificate;
    config.cluster_cert = own_.at(name).certificate;
    config.cluster_key = own_.at(name).key;
    config.link_key = "the key of both servers";
    config.auth_tokens = {
        {"ann", "token-of-ann-0123456789"}, {"bob", "token-of-bob-0123456789"}, {"root", "token-of-root-0123456789"}};
    config.auth_admins = {"root"};
    return config;
}

std::string modern_call(std::string_view tool, const std::string& sandbox, std::string_view extra)
{
    const std::string headers = headers_2026(tool) + "Mcp-Param-Sandbox-Id: " + sandbox +
                                "\r\nAuthorization: Bearer token-of-ann-0123456789\r\n" + std::string(extra);
    return post("/mcp", call_2026(1, tool, R"({"sandbox_id":")" + sandbox + R"("})"), headers);
}

std::string claim_of_root()
{
    auto who = std::make_shared<login>();
    who->principal = "root";
    who->scopes = scope_set::all();
    member_caller said;
    said.who = who;
    said.address = "10.0.0.1";
    return std::string(member_caller_field) + ": " + written(said) + "\r\n";
}

}  // namespace cmcp::test
