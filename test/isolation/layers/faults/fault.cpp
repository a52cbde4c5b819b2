#include "facilities/fault.hpp"

#include "facilities/setup_step.hpp"

#include <sys/auxv.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>

namespace cmcp::sandbox {
namespace {

// A test starts the launcher by a link of its own and writes lines such as "fail seccomp" or "leave_out landlock" into
// the file beside that link. The variable H3_FAIL_LAYER of the server's environment names layers that fail, too.
std::map<std::string, std::string, std::less<>> read_orders()
{
    std::map<std::string, std::string, std::less<>> orders;
    std::ifstream file(std::string(reinterpret_cast<const char*>(::getauxval(AT_EXECFN))) + ".faults");
    for (std::string what, layer; file >> what >> layer;) orders[layer] = what;
    std::ifstream environment("/proc/" + std::to_string(::getppid()) + "/environ");
    for (std::string entry; std::getline(environment, entry, '\0');) {
        if (!entry.starts_with("H3_FAIL_LAYER=")) continue;
        std::istringstream names(entry.substr(entry.find('=') + 1));
        for (std::string name; std::getline(names, name, ',');) orders[name] = "fail";
    }
    return orders;
}

const auto orders = read_orders();  // before the launcher leaves the host's mounts

}  // namespace

bool left_out(std::string_view layer)
{
    const auto order = orders.find(layer);
    if (order == orders.end()) return false;
    if (order->second == "leave_out") return true;
    throw step_failed("layer " + std::string(layer), EPERM);
}

}  // namespace cmcp::sandbox
