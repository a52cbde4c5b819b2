#pragma once

#include "async/blocking_pool.hpp"
#include "egress/egress_ticket.hpp"
#include "packages/package_commands.hpp"
#include "sandboxes/sandbox_runner.hpp"
#include "web/http_client.hpp"

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace cmcp {

/// An installation: the packages, their sandbox and their index.
struct package_work {
    sandbox_record where;
    run_options options;
    package_order order;
    std::shared_ptr<package_index> index;
    std::string authorization;  ///< for the index; empty: none
    std::shared_ptr<egress_ticket> ticket;
    std::chrono::milliseconds time{};          ///< that the whole may take
    std::chrono::milliseconds time_of_call{};  ///< after which it goes on as a job; 0: it never does
    std::chrono::steady_clock::time_point end;

    std::chrono::milliseconds left() const;  ///< until `end`; at least one
};

/// The runs of an installation: one that installs packages in the sandbox, without any network; and beside it, where
/// something is lacking, one that fetches them, without anything of the caller, with package_door as its only way out.
/// Everything given must outlive it.
class package_runs {
public:
    package_runs(sandbox::backend& backend, sandbox_runner& runs, blocking_pool& pool, http_client& client);

    /// To the end of both; the result channel of the one that installs has the report of package_installer.
    awaitable<sandbox::run_result> run(std::shared_ptr<package_work> of, output_collector& output);

private:
    using fetch_end = std::shared_ptr<std::optional<sandbox::run_result>>;  // nothing: it was not needed, or goes on

    awaitable<> provide(std::shared_ptr<package_work> of, unique_fd channel, output_collector& output, fetch_end end);
    awaitable<sandbox::run_result> fetch(std::shared_ptr<package_work> of, std::filesystem::path folder,
                                         output_collector& output);
    sandbox::run_request fetch_request_in(const package_work& of, const std::filesystem::path& folder) const;
    sandbox::run_request install_request(const package_work& of) const;

    sandbox::backend& backend_;
    sandbox_runner& runs_;
    blocking_pool& pool_;
    http_client& client_;
};

}  // namespace cmcp
