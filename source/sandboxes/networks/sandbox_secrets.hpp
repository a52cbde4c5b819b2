#pragma once

#include "egress/secret_source.hpp"
#include "secrets/secret_sealer.hpp"
#include "secrets/secret_store.hpp"
#include "store/sandbox_store.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cmcp {

struct settings;

/// The secrets of all sandboxes: which ones a sandbox has, the placeholders and the authority of certificates that it
/// has for them, as long as this server runs. What the store says counts at once. Io thread only.
class sandbox_secrets {
public:
    /// Both must outlive this.
    sandbox_secrets(const settings& config, blocking_pool& pool) : config_(config), pool_(pool) {}
    sandbox_secrets(const sandbox_secrets&) = delete;
    sandbox_secrets& operator=(const sandbox_secrets&) = delete;
    ~sandbox_secrets();

    /// Those for hosts that the sandbox's network allows.
    std::vector<held_secret> of(const sandbox_record& where);

    /// The certificate of the authority that the sandbox's programs trust (PEM).
    const std::string& certificate_for(const sandbox_record& where);

    /// For tickets of the sandbox. This must outlive it.
    std::shared_ptr<secret_source> source_for(const sandbox_record& where);

    void forget(const std::string& id);

private:
    class source;
    struct opened_secret {
        secret_record record;
        std::string value;
    };
    struct cell_part {
        std::shared_ptr<cell_authority> authority;
        std::map<std::string, std::string> placeholders;  // by the secret's name
    };

    bool look();  // false: there are none
    void open_all(const std::vector<secret_record>& records);
    void close_all();
    cell_part& part_of(const std::string& id);
    held_secret hold(const opened_secret& secret, cell_part& of) const;
    void note_use(const sandbox_record& where, const std::string& name);
    const opened_secret* find(const sandbox_record& where, const std::string& name);

    using clock = std::chrono::steady_clock;

    const settings& config_;
    blocking_pool& pool_;
    std::unique_ptr<secret_store> store_;
    std::int64_t seen_ = -1;                          // the store's version
    std::optional<clock::time_point> trouble_since_;  // with the key
    std::vector<opened_secret> secrets_;              // as of then
    std::map<std::string, cell_part> parts_;
    std::shared_ptr<boost::asio::ssl::context> trust_;
};

}  // namespace cmcp
