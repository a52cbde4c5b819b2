#pragma once

#include "launcher/prepared_runs.hpp"

#include <memory>

namespace cmcp::sandbox {

/// The zygotes of one launcher: one, or with the profile "auto" one with the standard library and, once a run asks for
/// it, a second with the libraries for data. A run that the second cannot take yet goes to the first.
class prepared_profiles {
public:
    prepared_profiles(run_keeper& keeper, zygote_options options);

    bool take(start_message& start, std::vector<unique_fd>& descriptors);  ///< these as in prepared_runs
    bool cancel(std::uint64_t id);
    void handle(std::uint64_t tag);
    void heard_of(std::uint64_t key);
    void lost(std::uint64_t key, const std::string& why);
    steady_time next_event() const;
    void look(steady_time now, std::size_t running);

private:
    run_keeper& keeper_;
    zygote_options options_;
    prepared_runs first_;
    std::unique_ptr<prepared_runs> data_;
};

}  // namespace cmcp::sandbox
