#include "sandbox/layers/layer_check.hpp"

namespace cmcp::sandbox {

layer own_namespace(const found_facts& found, std::string_view kind, std::string detail)
{
    const auto here = number(part(found.inside, "namespaces"), kind);
    const auto there = number(part(found.launcher, "namespaces"), kind);
    if (!here || !there) return off("it cannot be compared: there is no /proc and the kernel is too old to tell otherwise");
    return *here != *there ? on(std::move(detail)) : off("shared with the launcher");
}

}  // namespace cmcp::sandbox
