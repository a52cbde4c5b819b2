#pragma once

#include "sandbox/backend.hpp"
#include "store/sandbox_store.hpp"

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace cmcp {

/// The lasting cells of sandboxes in use: all that goes on in a sandbox shares processes, network and /tmp. The
/// backend must outlive this. Io thread only.
class sandbox_cells {
public:
    explicit sandbox_cells(sandbox::backend& backend) : backend_(backend) {}

    /// The name of its cell in a request; empty: each run has a cell of its own.
    std::string name_of(const sandbox_record& of) const;

    awaitable<std::map<std::string, sandbox::cell_state>> now();  ///< by sandbox, all shapes of it together

    /// Those whose programs have used more than a thousandth of a processor since the last call.
    awaitable<std::vector<std::string>> at_work();

    void hold(bool on);                  ///< all of them stand still, or go on
    awaitable<> end(sandbox_record of);  ///< returns once nothing of it is left
    void forget(const std::string& id)
    {
        last_.erase(id);
        untold_.erase(id);
        beside_.erase(id);
    }

    /// The next run's result tells `sentence` in place of what loss_before() would say.
    void tell_next(const std::string& id, std::string sentence) { untold_[id] = std::move(sentence); }

    /// The next run's result tells `sentence`, too.
    void tell_beside(const std::string& id, const std::string& sentence);

    std::string take_told(const std::string& id);  ///< those sentences, for the result of a run that lost nothing

    /// A sentence for the result of a run, where processes and /tmp of earlier ones are gone; else empty.
    std::string loss_before(const sandbox_record& where, const sandbox::run_result& end);

private:
    std::string loss(const sandbox_record& where, const sandbox::run_result& end);

    sandbox::backend& backend_;
    std::map<std::string, std::string> untold_;              // sentences for results, by sandbox
    std::map<std::string, std::string> beside_;              // the same
    std::map<std::string, std::uint64_t> last_;              // numbers of cells, by sandbox
    std::map<std::string, std::chrono::microseconds> work_;  // processor time of cells at the last look
    std::chrono::steady_clock::time_point looked_;
};

}  // namespace cmcp
