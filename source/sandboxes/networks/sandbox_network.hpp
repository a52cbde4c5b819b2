#pragma once

#include "async/task_group.hpp"
#include "egress/egress_guard.hpp"
#include "identity/quotas.hpp"
#include "mcp/caller.hpp"
#include "networks/network_lists.hpp"
#include "networks/network_questions.hpp"
#include "networks/sandbox_secrets.hpp"
#include "sandbox/backend.hpp"
#include "store/sandbox_store.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cmcp {

struct settings;

/// The network that a caller wants for a sandbox.
struct network_wish {
    std::vector<std::string> allow;  ///< hosts, as in SANDBOX_NETWORK_ALLOWED
    bool ask = false;                ///< the user is asked for others; without this and hosts: no network
};

/// The networks of sandboxes. A sandbox reaches the hosts of its record that the operator's lists allow, too, through
/// the doors of its cell, which the guard serves: each name has an address there, and a connection to it goes where the
/// guard judges, resolves and connects. Everything given to the constructor must outlive it. Io thread only.
class sandbox_network {
public:
    sandbox_network(asio::any_io_executor executor, const settings& config, sandbox::backend& backend,
                    sandbox_store& store, quotas& limits, blocking_pool& pool);
    sandbox_network(const sandbox_network&) = delete;
    sandbox_network& operator=(const sandbox_network&) = delete;
    ~sandbox_network();

    /// Whether the operator lets any sandbox have one.
    bool offered() const { return !lists_.ceiling.empty(); }

    /// The hosts for a record. Nothing wished: those of SANDBOX_NETWORK, for who may use the web. Throws sandbox_error
    /// where the caller or the operator's lists do not allow them.
    std::string hosts_of(const caller& who, const std::optional<network_wish>& wish) const;

    static std::vector<std::string> hosts_in(const sandbox_record& record);
    static bool asks_in(const sandbox_record& record);  ///< whether the user is asked for others

    /// The places that users have decided about.
    struct answers {
        std::vector<std::string> for_sandbox;  ///< among the record's hosts
        std::vector<std::string> for_runs;     ///< until the run ends that was asked
        std::vector<std::string> refused;      ///< until the sandbox stops, or has another network
    };
    answers answers_of(const sandbox_record& of) const;

    /// Runs `work` of a call in the sandbox, whose client is asked meanwhile where the network asks.
    template <class T>
    awaitable<T> with_user(sandbox_record where, caller who, request_io& io, awaitable<T> work)
    {
        network_caller asking(questions_, where.id, where.name, who, io);
        auto value = co_await with_questions(asking, std::move(work));
        co_return value;
    }

    /// The places that users have allowed since the last call, in words for a result.
    std::vector<std::string> take_notes(const std::string& id) { return questions_.take_notes(id); }

    /// Cells have the door for tools from now on, which `serve` takes with the sandbox's id; an empty one when the cell
    /// has ended. To be called before the first run.
    void give_tools(std::function<void(const std::string& sandbox, unique_fd door)> serve);

    /// Gives a run of the sandbox's cell its doors, the variables that name the proxy, and the placeholders of its
    /// secrets where its cell began with some.
    void join(sandbox::run_request& request, const sandbox_record& of);

    /// A secret as a model may know it.
    struct secret_notice {
        std::string variable, hosts, place;
    };
    std::vector<secret_notice> secrets_of(const sandbox_record& of);

    /// Whether the sandbox has secrets, and a live cell that began without any.
    bool waits_for_secrets(const sandbox_record& of);

    /// A sentence for the result of a run in such a cell, once; else empty.
    std::string note_on_secrets(const sandbox_record& of);

    /// Whether the port of the sandbox's loopback is the server's, for the network.
    bool is_door(const sandbox_record& of, std::uint16_t port) const;

    /// The sandbox has these hosts from now on: its open connections end.
    void renew(const sandbox_record& of);

    void reload();  ///< the operator's lists have changed; throws config_error

    /// For the web tools that code in the sandbox calls: what its programs may reach at this moment, if only nothing.
    std::shared_ptr<egress_ticket> way_out_of(const std::string& id) const;

    /// The sentences of what was refused since the last call.
    std::vector<std::string> take_refusals(const std::string& id);

    void forget(const std::string& id);
    void stop();  ///< closes all of them; none opens any more

private:
    struct live_network;

    void check(const std::string& entry) const;
    bool asks(const sandbox_record& of) const;
    std::shared_ptr<const egress_policy> policy_of(const sandbox_record& of) const;
    bool keep(const std::string& id, const std::string& place);
    void use_policy(const std::string& id);
    void open(const sandbox::cell_name& cell, std::vector<unique_fd> doors);
    std::shared_ptr<egress_ticket> issue(const sandbox_record& of, bool with_secrets);
    bool begins_with_secrets(const std::string& id, bool has_some);

    asio::any_io_executor executor_;
    const settings& config_;
    sandbox::backend& backend_;
    sandbox_store& store_;
    quotas& limits_;
    network_questions questions_;
    network_lists lists_;
    sandbox_secrets secrets_;
    std::map<std::string, bool> begins_;  ///< with secrets, by sandbox whose cell has not reported its doors yet
    egress_guard guard_;
    std::map<std::string, std::unique_ptr<live_network>> live_;       ///< by sandbox
    std::function<void(const std::string&, unique_fd)> serve_tools_;  ///< null: no cell has the door for tools
};

}  // namespace cmcp
