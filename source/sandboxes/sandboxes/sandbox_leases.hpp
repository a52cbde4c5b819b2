#pragma once

#include "async/event.hpp"
#include "async/task_group.hpp"
#include "runs/sandbox_error.hpp"
#include "store/sandbox_store.hpp"

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace cmcp {

class sandbox_manager;

/// When the leases of sandboxes end, and what becomes of them then: they are paused or deleted. A paused sandbox has no
/// programs; its next use resumes it, with a lease of the same length (sandbox_store::touch). Throws sandbox_error. Io
/// thread only.
class sandbox_leases {
public:
    /// `of` must outlive this.
    sandbox_leases(const asio::any_io_executor& executor, sandbox_manager& of) : of_(of), tasks_(executor) {}

    void start();  ///< leases end from now on
    awaitable<> stop();

    /// Keeps a paused sandbox outside of this server, too.
    void keep_by(std::function<awaitable<>(std::string id)> keep) { keep_ = std::move(keep); }
    bool keeps_elsewhere(const sandbox_record& paused) const { return keep_ && !paused.passing; }

    void set(const std::string& id, const sandbox_lease& lease);
    void look() { changed_.notify(); }  ///< a lease in the store may end sooner than was known

    /// Ends all that goes on in the sandbox; callers are told `why`. Gives what could not be kept, a phrase each.
    awaitable<std::vector<std::string>> pause(sandbox_record where, sandbox_error why);

    /// What began while a sandbox is being paused would end with it.
    awaitable<> end_of_pause(std::string id);

private:
    struct mark;

    awaitable<> look_after();
    double end_those_over();
    awaitable<> end(std::string id);

    sandbox_manager& of_;
    std::function<awaitable<>(std::string)> keep_;
    std::set<std::string> pausing_;  // their programs are being ended
    std::set<std::string> ending_;   // their leases are over
    event paused_;
    event changed_;
    task_group tasks_;
};

}  // namespace cmcp
