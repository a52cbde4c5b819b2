#pragma once

#include "packages/package_runs.hpp"
#include "sandboxes/sandbox_runner.hpp"
#include "web/http_client.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cmcp {

struct settings;

/// How an installation ended.
struct package_outcome {
    run_outcome run;
    std::vector<std::string> installed;  ///< "name==version" that were not there before
    std::string problem;                 ///< why the installation failed, with advice; empty: it worked
};

/// Installs packages in sandboxes, by the image's own pip or npm. Packages are fetched by a run that has nothing of the
/// caller and reaches the index through package_door alone: the index and hosts of the settings, or else those that pip
/// and npm know. Then a run in the sandbox installs them without any network. Throws sandbox_error. Io thread only.
class sandbox_packages {
public:
    /// Everything given must outlive it.
    sandbox_packages(const settings& config, asio::any_io_executor executor, sandbox::backend& backend,
                     sandbox_runner& runs, blocking_pool& pool);

    /// `names` as pip and npm take them: name, extras, version ("numpy", "numpy==1.26", "left-pad@1.3.0").
    awaitable<package_outcome> install(caller who, request_io& io, sandbox_record where, package_kind kind,
                                       std::vector<std::string> names, run_options options);

private:
    awaitable<package_outcome> run(caller who, request_io& io, sandbox_record where, package_kind kind,
                                   std::vector<std::string> names, run_options options);
    awaitable<std::shared_ptr<package_work>> begin(sandbox_record where, package_kind kind,
                                                   std::vector<std::string> names, run_options options);
    awaitable<package_outcome> finish(std::shared_ptr<package_work> of, request_io& io, overtime beyond);
    awaitable<package_origin> origin(package_kind kind);
    std::shared_ptr<const egress_policy> policy(package_kind kind, const package_origin& origin, const web_url& index);
    const std::string& index_setting(package_kind kind) const;

    const settings& config_;
    sandbox::backend& backend_;
    sandbox_runner& runs_;
    http_client client_;
    package_runs installing_;
    std::map<package_kind, package_origin> defaults_;  ///< as far as they were asked for
    /// Kept for each kind, because connections are used again only under the same policy.
    std::map<package_kind, std::shared_ptr<const egress_policy>> policies_;
};

}  // namespace cmcp
