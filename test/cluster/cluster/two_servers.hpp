#pragma once

#include "cluster/cluster.hpp"
#include "config/settings.hpp"
#include "test/inbound/transport/http_fixture.hpp"
#include "test/inbound/transport/idle_administration.hpp"
#include "test/support/certificates.hpp"

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace cmcp::test {

inline constexpr std::string_view random_part = "_0123456789abcdef0123456789abcdef";

/// An administration of a server at which one run of ann goes on.
class administration_of_one_run final : public idle_administration {
public:
    explicit administration_of_one_run(std::string node) : id_("run-at-" + std::move(node)) {}

    awaitable<json::object> runs(admin_viewer by) override;
    awaitable<bool> end_run(admin_viewer by, std::string id) override;
    std::string ended_by() const;  ///< the principal that has ended it; empty: it goes on

private:
    std::string id_;
    mutable std::mutex lock_;  // tests look from another thread
    std::string ended_by_;
};

/// Of a server that reaches no etcd, and whom it would know by that.
struct member_settings : settings {
    std::vector<etcd_entry> others{};
};

/// A server of a cluster of n1 and n2. Beside the tools of the fixture it has
///   whose {sandbox_id, text}   progress with the text, then {node, principal, text}
///   waits {sandbox_id}         waits until it is cancelled
///   places {}                  a list that both make together
class member_server final : public http_fixture::addition {
public:
    /// A part that a test has in place of the server's own.
    struct parts {
        moving_sandboxes moving{};
        std::function<void(router&)> routes{};
    };

    /// `entrance`: where the other one connects.
    member_server(member_settings config, bound_address entrance, parts more);
    member_server(member_settings config, bound_address entrance)
        : member_server(std::move(config), std::move(entrance), parts())
    {
    }

    http_fixture& server() { return *server_; }
    int waits() const { return waits_; }  ///< calls of `waits` that run
    int calls() const { return calls_; }  ///< of `whose`
    std::uint16_t entrance() const { return entrance_port_; }
    std::string run_ended_by() const { return administration_.ended_by(); }

private:
    http_parts add(asio::io_context& io, server_core& core) override;
    void before_start(asio::io_context& io, http_server& server) override;
    void after_stop() override { cluster_.reset(); }

    member_settings config_;
    parts parts_;
    administration_of_one_run administration_;
    quotas limits_{config_};
    std::optional<bound_address> entrance_;
    std::uint16_t entrance_port_;
    std::atomic<int> waits_{0}, calls_{0};
    std::unique_ptr<cluster> cluster_;
    std::unique_ptr<http_fixture> server_;  // goes first
};

/// Certificates of one authority and settings, by which servers know each other.
struct member_papers {
    explicit member_papers(const std::map<std::string, bound_address>& entrances);

    certificates files;
    certificates::pair authority;

    member_settings settings_of(const std::string& name) const;
    std::uint16_t port_of(const std::string& name) const { return ports_.at(name); }

private:
    std::map<std::string, std::uint16_t> ports_;
    std::map<std::string, certificates::pair> own_;
};

/// Entrances at free ports.
std::map<std::string, bound_address> entrances_of(std::initializer_list<std::string> names);

/// Both servers.
struct two_servers : member_papers {
    two_servers() : two_servers(entrances_of({"n1", "n2"})) {}

    std::unique_ptr<member_server> one, two;

private:
    explicit two_servers(std::map<std::string, bound_address> entrances);
};

/// The field by which members say for whom they ask, in the name of root, as a client may write it.
std::string claim_of_root();

/// A call of `whose` or another tool in the current revision, with its headers.
std::string modern_call(std::string_view tool, const std::string& sandbox, std::string_view extra = {});

}  // namespace cmcp::test
