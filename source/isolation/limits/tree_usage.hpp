#pragma once

#include "posix/unique_fd.hpp"

#include <cstdint>

namespace cmcp::sandbox {

/// The room that a folder tree takes on its file system.
struct tree_usage {
    std::uint64_t bytes = 0;  ///< allocated, a file with several names once
    std::uint64_t files = 0;  ///< files, folders and links
    bool complete = true;     ///< false: nested too deeply to be counted to its end
    bool in_project = false;  ///< as the caller of the count said
};

struct tree_bounds {
    std::uint64_t bytes;
    std::uint64_t files;
};

/// Counts the files below `folder` (an open directory), without following links or entering other file systems. Stops
/// early once one of the bounds is exceeded. Needs one descriptor a level.
tree_usage count_tree(int folder, tree_bounds most);

/// A count of a folder tree in a process of its own: however large the tree is, the launcher goes on meanwhile. With a
/// `project` (project_quota.hpp) the count puts every file and folder into it, the tree's own folder last.
class tree_count {
public:
    tree_count(int folder, tree_bounds most, std::uint32_t project = 0);  ///< throws step_failed
    tree_count(const tree_count&) = delete;
    tree_count& operator=(const tree_count&) = delete;
    ~tree_count();

    int answer() const { return answer_.get(); }  ///< readable once the count has ended

    /// After answer() became readable; a count that died says "not complete".
    tree_usage take() const;

private:
    unique_fd process_;
    unique_fd answer_;
};

}  // namespace cmcp::sandbox
