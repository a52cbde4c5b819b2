#pragma once

#include "async/blocking_pool.hpp"
#include "egress/egress_ticket.hpp"
#include "packages/package_index.hpp"
#include "packages/package_programs.hpp"
#include "sandboxes/sandbox_runner.hpp"
#include "web/http_client.hpp"

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cmcp {

/// Throws sandbox_error for what is no package with an optional version.
void check_package_names(package_kind kind, const std::vector<std::string>& names);

/// An index without the user name and password that its URL may hold.
struct index_address {
    web_url url;
    std::string authorization;  ///< the same as a header; empty: none
};

/// Throws sandbox_error for text that is no http or https URL.
index_address read_index_address(package_kind kind, const std::string& text);

/// Packages to install and the way to them.
struct package_order {
    package_kind kind = package_kind::pip;
    std::vector<std::string> names;
    std::string program;  ///< npm, as a run calls it; pip is part of the run's interpreter
    bool source = false;  ///< also packages that must be built, and scripts of packages
};

/// The words of pip, or the command of npm, for package_fetcher, that put the packages and what they need into the
/// folder `packages`, in a run that has nothing but the door to the index (package_door.hpp).
std::vector<std::string> fetching_command(const package_order& order, const package_index& index);

/// The words of pip or npm, for package_installer, that install them without any network.
std::vector<std::string> installing_words(const package_order& order, const package_index& index);

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
