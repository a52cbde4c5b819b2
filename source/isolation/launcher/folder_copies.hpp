#pragma once

#include "posix/unique_fd.hpp"

#include <utility>
#include <vector>

namespace cmcp::sandbox {

/// Makes all folders below `from`, without their files, below `to`. A folder that may not be read is empty. Throws
/// step_failed.
void copy_folders(int from, int to);

/// The same in another process, because /usr has tens of thousands and the launcher has others to serve. That ends with
/// this.
class folder_copies {
public:
    explicit folder_copies(std::vector<std::pair<unique_fd, unique_fd>> from_and_to);  ///< throws step_failed
    folder_copies(const folder_copies&) = delete;
    folder_copies& operator=(const folder_copies&) = delete;
    ~folder_copies();

    int ended() const { return process_.get(); }  ///< readable once it has
    bool take();                                  ///< then: whether all is copied

private:
    unique_fd process_;
};

}  // namespace cmcp::sandbox
