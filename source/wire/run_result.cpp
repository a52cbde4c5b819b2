#include "wire/run_result.hpp"

namespace cmcp::sandbox {

std::string_view to_string(cause c)
{
    switch (c) {
        case cause::exited:
            return "exited";
        case cause::signalled:
            return "signalled";
        case cause::timeout:
            return "timeout";
        case cause::cpu_limit:
            return "cpu_limit";
        case cause::memory_limit:
            return "memory_limit";
        case cause::process_limit:
            return "process_limit";
        case cause::file_size_limit:
            return "file_size_limit";
        case cause::output_limit:
            return "output_limit";
        case cause::denied_syscall:
            return "denied_syscall";
        case cause::cancelled:
            return "cancelled";
        case cause::setup_failed:
            return "setup_failed";
    }
    return "setup_failed";
}

}  // namespace cmcp::sandbox
