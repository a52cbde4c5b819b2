#include "sandbox/layers/layer_check.hpp"

#include <sys/stat.h>
#include <unistd.h>

namespace cmcp::sandbox {
namespace {

// True when nothing could be made there. What was made is removed again.
bool cannot_write_to(const char* folder)
{
    const std::string path = std::string(folder) + "/.container-mcp-probe";
    if (::mkdir(path.c_str(), 0700) != 0) return true;
    ::rmdir(path.c_str());
    return false;
}

void look(json::object& facts) { facts["root_read_only"] = cannot_write_to("") && cannot_write_to("/usr") && cannot_write_to("/etc"); }

layer judge(const found_facts& found)
{
    layer own = own_namespace(found, "mnt", "a root of its own, read-only");
    if (own.is == layer::state::on && !is_true(found.inside, "root_read_only")) return degraded("the root folder can be written to");
    return own;
}

}  // namespace

const layer_check mount_namespace_check{"mount_namespace", look, judge};

}  // namespace cmcp::sandbox
