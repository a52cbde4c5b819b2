#pragma once

#include "zygote/interpreter.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp::sandbox {

/// The pages that a process has, beyond those it shares with the one it was cloned from: what a run writes to or reads.
/// A clone that makes them its own while it waits meets no page fault in its run.
class working_set {
public:
    static working_set of_this_process();

    std::string encode() const;
    static working_set decode(std::string_view bytes);

    void make_present() const;  ///< in another clone of the same process; pages that it does not have are left out

private:
    struct range {
        std::uintptr_t begin;
        std::uint32_t bytes;
        bool written;
    };
    void add(std::uintptr_t page, bool written);

    std::vector<range> ranges_;
};

/// Forks a child that is started like `argv` and runs a short program as a run does, and returns what it came to have
/// of its own; nothing where it did not come to its end. Throws step_failed when no child can be made.
working_set rehearse(interpreter& python, const std::vector<std::string>& argv);

}  // namespace cmcp::sandbox
