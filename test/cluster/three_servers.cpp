#include "test/cluster/three_servers.hpp"

#include "config/setting_kinds.hpp"
#include "config/settings.hpp"
#include "metrics/registry.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>

#include <csignal>
#include <future>
#include <stdexcept>

namespace cmcp::test {

using namespace std::chrono_literals;

namespace {

constexpr watch_times quick_times{1000ms, 1600ms, 2000ms, 1500ms};
constexpr watch_pace quick_pace{200ms, 200ms, 50ms};

gateways watched_by(cluster_gateway& all)
{
    gateways to;
    to.cluster = &all;
    return to;
}

}  // namespace

three_servers::server::server(asio::io_context& io, settings of, bound_address entrance)
    : config(std::move(of)),
      all(config),
      links(std::make_shared<member_links>(io.get_executor(), config)),
      watch(io.get_executor(), all, links, true, promises.path / "promises", quick_times, quick_pace),
      core(io.get_executor(), server_identity{}, core_limits{}, std::make_shared<job_register>(io.get_executor())),
      http(io, config, bound_address("127.0.0.1", 0), core, {}, watched_by(*this)),
      tasks(io.get_executor()),
      port(http.address().port())
{
    watch.on_change([this] { return came_in_touch(); }, [this] { return was_cut_off(); });
    http.admit_members_at(io, std::move(entrance));
    http.start();
    watch.start(tasks);
}

awaitable<> three_servers::server::came_in_touch()
{
    const bool fails = failing > 0;
    calls.push_back(fails ? "failed" : "in_touch");
    if (!fails) co_return;
    --failing;
    throw std::runtime_error("the look fails");
}

awaitable<> three_servers::server::was_cut_off()
{
    calls.push_back("cut_off");
    co_return;
}

// TLS may write to a server that has just gone, as in the program, which ignores the signal.
three_servers::three_servers() : authority(files.authority("ca", "the members"))
{
    std::signal(SIGPIPE, SIG_IGN);
    std::map<std::string, bound_address> places;
    for (const std::string name : {"n1", "n2", "n3"}) {
        own_[name] = files.signed_by(authority, name, name, "DNS:" + name);
        entrances_[name] = places.emplace(name, bound_address("127.0.0.1", 0, true)).first->second.port();
    }
    for (auto& [name, place] : places)
        servers_[name] = std::make_unique<server>(io_, settings_of(name), std::move(place));
    thread_ = std::thread([this] { io_.run(); });
}

three_servers::~three_servers()
{
    for (const auto& [name, port] : entrances_)
        if (servers_[name]) stop(name);
    work_.reset();
    thread_.join();
}

settings three_servers::settings_of(const std::string& name) const
{
    auto config = http_fixture::quick_settings();
    std::string all;
    for (const auto& [member, port] : entrances_)
        all += (all.empty() ? "" : ",") + member + "=127.0.0.1:" + std::to_string(port);
    config.cluster_members = kinds::word_list(all);
    config.sandbox_node = name;
    config.cluster_ca = authority.certificate;
    config.cluster_cert = own_.at(name).certificate;
    config.cluster_key = own_.at(name).key;
    config.link_key = "the key of all servers";
    config.auth_tokens = {{"ann", "token-of-ann-0123456789"}};
    return config;
}

template <class Call>
auto three_servers::on_thread(Call call)
{
    std::packaged_task<decltype(call())()> task(std::move(call));
    auto result = task.get_future();
    asio::post(io_, [&task] { task(); });
    return result.get();
}

void three_servers::start(const std::string& name)
{
    on_thread([&] {
        bound_address entrance("127.0.0.1", entrances_.at(name), true);
        servers_[name] = std::make_unique<server>(io_, settings_of(name), std::move(entrance));
    });
}

// Tasks and connections have ended when the server goes.
void three_servers::stop(const std::string& name)
{
    auto& of = *servers_.at(name);
    on_thread([&] { of.tasks.cancel_all(); });
    asio::co_spawn(io_, of.tasks.wait_idle(10s), asio::use_future).get();
    asio::co_spawn(io_, of.http.stop(), asio::use_future).get();
    on_thread([&] { servers_[name].reset(); });
}

bool three_servers::is_in_touch(const std::string& name)
{
    return on_thread([&] { return servers_.at(name)->watch.is_in_touch(); });
}

bool three_servers::is_gone(const std::string& for_whom, std::string name, std::chrono::milliseconds limit)
{
    auto question = servers_.at(for_whom)->watch.is_gone(std::move(name), limit);
    return asio::co_spawn(io_, std::move(question), asio::use_future).get().value_or(false);
}

std::vector<std::string> three_servers::calls(const std::string& name)
{
    return on_thread([&] { return servers_.at(name)->calls; });
}

void three_servers::fail_looks(const std::string& name, int times)
{
    on_thread([&] { servers_.at(name)->failing = times; });
}

std::string three_servers::figures()
{
    return on_thread([] { return metrics::all().text(); });
}

}  // namespace cmcp::test
