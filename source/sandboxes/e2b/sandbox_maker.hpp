#pragma once

#include "sandboxes/sandbox_runner.hpp"

#include <string>

namespace cmcp::e2b {

/// Makes sandboxes as E2B's programs expect them: of class machine, with the account `user`. They are strict where the
/// operator or the caller's quota forbids the class, and where none can start here: the kernel mounts no overlay upon
/// the server's files, as in a container whose files lie in one themselves. `runs` must outlive this. Io thread only.
class sandbox_maker {
public:
    explicit sandbox_maker(sandbox_runner& runs) : runs_(runs) {}

    awaitable<sandbox_record> make(caller who, new_sandbox wanted);  ///< throws sandbox_error

private:
    awaitable<std::string> obstacle(caller who, sandbox_record where);

    sandbox_runner& runs_;
    bool has_started_one_ = false;
};

}  // namespace cmcp::e2b
