#pragma once

#include "cluster/heartbeats.hpp"
#include "cluster/shared_holdings.hpp"
#include "cluster/shared_issuers.hpp"
#include "cluster/shared_keys.hpp"
#include "cluster/shared_quotas.hpp"
#include "directory/directory.hpp"

#include <functional>

namespace cmcp {

struct settings;

/// The server's part of what is in the directory.
struct reported_by_server {
    quotas& limits;  ///< count by the directory from now on; outlive the cluster
    holdings_source holdings;
    std::function<json::object()> load;
};

/// A directory and what members tell each other there.
class shared_knowledge {
public:
    /// `config` and `all` must outlive this. Throws config_error.
    shared_knowledge(asio::any_io_executor executor, const settings& config, const members& all,
                     reported_by_server own);

    directory& told_in() { return directory_; }
    shared_holdings& holdings() { return holdings_; }
    // As heartbeats have them.
    const json::object* load_of(std::string_view member) const { return beats_.load_of(member); }
    std::string place_given_away() { return beats_.place_given_away(); }
    std::string place_surplus() { return beats_.place_surplus(); }

    shared_logins logins();  ///< must not outlive this

    /// Beats and tells until it is cancelled.
    awaitable<> run();
    awaitable<> share_quotas() { return quotas_.run(); }  ///< beside run()

private:
    directory directory_;
    heartbeats beats_;
    shared_holdings holdings_;
    shared_keys keys_;
    shared_issuers issuers_;
    shared_quotas quotas_;
    bool is_told_ = false;  // everything, once
    event::clock::time_point told_all_{};
};

}  // namespace cmcp
