#pragma once

#include "kernels/kernel_manager.hpp"
#include "sandboxes/call_line.hpp"

#include <memory>
#include <string>

namespace cmcp {

/// The kernel of a sandbox, or its place until it is started.
struct kernel_manager::kernel {
    bool lives() const { return process && process->alive(); }
    std::string stored_folder() const { return name.empty() ? ".kernel" : ".kernel-" + name; }  // of the workspace

    std::string id;    // of the sandbox
    std::string name;  // empty: the sandbox's own
    kernel_language language = kernel_language::python;
    std::string owner;
    double started = 0;     // seconds since 1970
    std::string why_ended;  // the process before, as a sentence without its stop; empty: not known here
    bool forgets = false;   // the next process takes nothing that was kept
    bool returns = false;   // it ends for now, and the place stays
    std::shared_ptr<kernel_process> process;
    const std::shared_ptr<call_line> line = std::make_shared<call_line>();
};

}  // namespace cmcp
