#pragma once

#include "jail/tree_usage.hpp"
#include "posix/unique_fd.hpp"

#include <optional>

namespace cmcp::sandbox {

/// A count of a folder tree in a process of its own: however large the tree is, the launcher goes on meanwhile.
class tree_count {
public:
    tree_count(int folder, tree_bounds most);  ///< throws step_failed
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
