#pragma once

#include "cluster/member_watch.hpp"
#include "config/settings.hpp"
#include "http/cluster_gateway.hpp"
#include "test/support/certificates.hpp"
#include "test/support/temporary_folder.hpp"
#include "test/transport/http_fixture.hpp"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace cmcp::test {

/// Servers n1, n2 and n3 that watch each other, in less time than elsewhere. A single thread runs all.
class three_servers {
public:
    three_servers();
    three_servers(const three_servers&) = delete;
    three_servers& operator=(const three_servers&) = delete;
    ~three_servers();

    void start(const std::string& name);
    void stop(const std::string& name);  ///< waits for its end

    bool is_in_touch(const std::string& name);
    bool is_gone(const std::string& for_whom, std::string name, std::chrono::milliseconds limit);

    /// The calls when the member came in touch or was cut off.
    std::vector<std::string> calls(const std::string& name);
    void fail_looks(const std::string& name, int times);  ///< that many calls at coming in touch throw

    bool has_promised(const std::string& name) const  ///< in a file, for its next life
    {
        return std::filesystem::exists(servers_.at(name)->promises.path / "promises");
    }

    const certificates::pair& certificate(const std::string& name) const { return own_.at(name); }
    std::uint16_t port(const std::string& name) const { return servers_.at(name)->port; }
    std::uint16_t entrance(const std::string& name) const { return entrances_.at(name); }
    std::string figures();

    certificates files;
    certificates::pair authority;

private:
    struct server final : cluster_gateway {
        server(asio::io_context& io, settings of, bound_address entrance);

        json::object describe() const override { return {}; }
        awaitable<json::object> move(std::string, std::string) override { co_return json::object(); }
        json::object drain(bool) override { return {}; }
        awaitable<json::object> rebalance() override { co_return json::object(); }
        bool take_beat(std::string_view from) override { return watch.take_beat(from); }
        bool vote(std::string_view from, std::string_view about) override { return watch.vote(from, about); }
        awaitable<bool> take(std::string, std::string) override { co_return false; }
        bool take_list_change(std::string_view, std::string_view) override { return false; }

        awaitable<> came_in_touch();
        awaitable<> was_cut_off();

        settings config;
        members all;
        std::shared_ptr<member_links> links;
        temporary_folder promises;
        member_watch watch;
        server_core core;
        http_server http;
        task_group tasks;
        std::uint16_t port;
        std::vector<std::string> calls{};
        int failing = 0;
    };

    settings settings_of(const std::string& name) const;
    template <class Call>
    auto on_thread(Call call);  // runs it on the thread of the servers and returns its result

    std::map<std::string, std::uint16_t> entrances_;
    std::map<std::string, certificates::pair> own_;
    asio::io_context io_;
    asio::executor_work_guard<asio::io_context::executor_type> work_ = asio::make_work_guard(io_);
    std::map<std::string, std::unique_ptr<server>> servers_;
    std::thread thread_;
};

}  // namespace cmcp::test
