#pragma once

#include "jail.hpp"

#include <string>
#include <vector>

namespace cmcp::sandbox {

/// The program of a run, ready to be executed.
class payload {
public:
    explicit payload(jail_plan& plan);
    [[noreturn]] void become();   ///< throws step_failed when the program cannot be started

private:
    jail_plan& plan_;
    std::vector<std::string> environment_;
    std::vector<char*> arguments_;
    std::vector<char*> variables_;
};

}  // namespace cmcp::sandbox
