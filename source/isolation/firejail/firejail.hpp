#pragma once

#include "facilities/landlock.hpp"
#include "firejail/profile.hpp"
#include "jail/jail.hpp"

#include <list>
#include <map>
#include <string>
#include <vector>

namespace cmcp::sandbox {

/// The launcher's record of one run under Firejail.
struct firejail_run {
    std::string profile{};  ///< path of the file
    unique_fd messages{};   ///< Firejail's output
    unique_fd first{};      ///< pidfd of the first process of the run's PID namespace; none: it is not known yet
    int helper = 0;         ///< the number of live_inside() in there
};

/// The Firejail of this machine, which makes the namespaces and mounts of runs in the launcher's stead (inside.hpp does
/// the rest). Keeps its profiles in a folder of its own below /tmp as long as it lives.
class firejail {
public:
    /// `path`: the program. `as_root`: whether the launcher is root. Throws step_failed where runs cannot be confined
    /// by it.
    firejail(std::string path, bool as_root);
    firejail(const firejail&) = delete;
    firejail& operator=(const firejail&) = delete;
    ~firejail();

    const std::string& version() const { return version_; }  ///< "firejail version 0.9.72"

    /// Firejail shows a folder only where it is outside, too: the request's workspace, and the paths that name it, are
    /// put there. Throws step_failed.
    static void move_workspace(run_request& request);

    /// Completes the plan of a run whose workspace was moved, and returns the path of its profile. Throws step_failed.
    std::string prepare(jail_plan& plan);

    /// Ends as a run's first process. `messages`: takes Firejail's output. Throws step_failed.
    [[noreturn]] void become(const jail_plan& plan, const std::string& profile, int messages) const;

    const std::string& namespaces_outside() const { return namespaces_outside_; }

private:
    void make_folder();
    const view_files& programs_of(const run_request& request);
    std::string write_profile(const std::string& text);

    std::string path_;
    bool as_root_;
    std::string version_;
    std::string folder_;
    unique_fd in_use_;  ///< the folder, locked
    std::string namespaces_outside_;
    unique_fd program_;                            ///< the launcher's own, to be executed inside
    view_files loaded_;                            ///< the files that the launcher loads
    std::map<std::string, view_files> resolved_;   ///< by names
    std::map<std::string, std::string> profiles_;  ///< text to path
};

/// Firejail's reason not to start a run, from its output; one sentence for explain_setup_failure().
std::string firejail_complaint(int messages);

}  // namespace cmcp::sandbox
