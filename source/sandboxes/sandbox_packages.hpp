#pragma once

#include "config/settings.hpp"
#include "egress/egress_guard.hpp"
#include "sandboxes/package_programs.hpp"
#include "sandboxes/sandbox_runner.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cmcp {

/// How an installation ended.
struct package_outcome {
    run_outcome run;
    std::vector<std::string> installed;  ///< "name==version" that were not there before
    std::string problem;                 ///< why the installation failed, with advice; empty: it worked
};

/// Installs packages in sandboxes, by the image's own pip or npm, run inside with nothing but the egress guard to
/// reach, which lets it reach the index and its hosts alone: those of the settings, or else those that pip and npm
/// know. Throws sandbox_error. Io thread only.
class sandbox_packages {
public:
    sandbox_packages(const settings& config, asio::any_io_executor executor, sandbox::backend& backend,
                     sandbox_runner& runs);

    /// `names` as pip and npm take them: name, extras, version ("numpy", "numpy==1.26", "left-pad@1.3.0").
    awaitable<package_outcome> install(caller who, request_io& io, sandbox_record where, package_kind kind,
                                       std::vector<std::string> names, run_options options);

private:
    awaitable<package_outcome> run(caller who, request_io& io, sandbox_record where, package_kind kind,
                                   std::vector<std::string> names, run_options options);
    sandbox::run_request install_request(const sandbox_record& where, package_kind kind,
                                         const std::vector<std::string>& names, const package_origin& origin,
                                         const run_options& options) const;
    awaitable<package_origin> origin(package_kind kind);
    std::shared_ptr<const egress_policy> policy(package_kind kind, const package_origin& origin) const;
    const std::string& chosen_index(package_kind kind) const
    {
        return kind == package_kind::pip ? config_.pypi_index_url : config_.npm_registry_url;
    }

    const settings& config_;
    sandbox::backend& backend_;
    sandbox_runner& runs_;
    egress_guard guard_;
    std::map<package_kind, package_origin> defaults_;  ///< as far as they were asked for
    bool listening_ = false;
};

}  // namespace cmcp
