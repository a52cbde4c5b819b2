#pragma once

#include "launcher/run_keeper.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cmcp::sandbox {

/// Runs that are confined already, or soon will be, and wait for what to do. Each belongs to one shape of run
/// (workspace, view, limits), and so to one caller, from its beginning on.
class waiting_runs {
public:
    /// `each`: how many wait for one shape.
    waiting_runs(run_keeper& keeper, std::size_t each) : keeper_(keeper), each_(each) {}

    void add(std::uint64_t key, std::string shape);
    std::optional<std::string> heard_of(std::uint64_t key);  ///< the shape of one that is ready now
    bool is_ready(std::uint64_t key) const;
    std::optional<std::string> forget(std::uint64_t key);  ///< its shape; nothing: it does not wait here

    /// False: none was there, or none could begin.
    bool hand_over(const std::string& shape, const start_message& start, const std::vector<unique_fd>& descriptors);
    /// The same with one that is known. It does not wait any more, whatever the answer is.
    bool hand_over(std::uint64_t key, const start_message& start, const std::vector<unique_fd>& descriptors);

    std::size_t count(const std::string& shape) const;
    bool enough(const std::string& shape, std::size_t more) const { return count(shape) >= each_ + more; }

    /// Ends those that have waited longest for other shapes than `kept`, where there are more than four shapes' worth:
    /// first where several wait for one shape.
    void trim(const std::string& kept);

private:
    struct child {
        std::uint64_t key;
        std::string shape;
        bool ready;
    };

    std::optional<std::uint64_t> ready_for(const std::string& shape) const;
    void end(std::size_t place);

    run_keeper& keeper_;
    std::size_t each_;
    std::vector<child> children_;
};

/// What of a request is settled before its run begins; the rest is handed over when it begins.
run_request shape_of(run_request request);

/// A text that is the same for requests which one waiting run can serve. A folder that was put in the place of another
/// is another workspace.
std::string shape_name(const run_request& shape, bool probe);

}  // namespace cmcp::sandbox
