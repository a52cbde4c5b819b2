#include "engine/container_shell.hpp"

#include "engine/exchange_folder.hpp"

namespace cmcp::engine {
namespace {

// Asked of the kernel from inside, before the program starts; what a runtime with a kernel of its own (gVisor) does not
// tell is not judged. A word is added to $lacks for each layer that is not in force.
constexpr const char* look = R"SH(
lacks=
while read -r name value rest; do
    case $name in
        NoNewPrivs:) [ "$value" = 1 ] || lacks="$lacks no_new_privs" ;;
        CapBnd: | CapPrm: | CapEff:) [ "$value" = 0000000000000000 ] || lacks="$lacks capabilities" ;;
        Seccomp:) [ "$value" = 2 ] || lacks="$lacks seccomp" ;;
    esac
done < /proc/self/status
while read -r name rest; do
    case $name in lo:* | *-\|* | face*) ;; *:*) lacks="$lacks no_network" ;; esac
done < /proc/net/dev
for name in memory.max memory/memory.limit_in_bytes; do
    read -r value < /sys/fs/cgroup/$name && { [ "$value" -le $memory ] || lacks="$lacks limits"; }
done
for name in $lacks; do
    case " $required " in *" $name "*) echo "lacks $name" > /run/container-mcp.report; exit 125 ;; esac
done
)SH";

// Only what any /bin/sh has built in. What the shell says itself (that a program was killed) is not the program's
// output. A package's own programs come before the image's.
constexpr const char* script_beginning = R"SH(
PATH="$HOME/.local/bin:$HOME/node_modules/.bin:${PATH:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}"
export PATH
exec 9>&2 2>/dev/null
)SH";

constexpr const char* program = "\"$@\" 2>&9 9>&-";

constexpr const char* end = R"SH(
code=$?
{
    echo "code $code"
    cd /sys/fs/cgroup && for name in memory.events memory.peak pids.events cpu.stat memory/memory.oom_control \
        memory/memory.max_usage_in_bytes pids/pids.events cpuacct/cpuacct.usage
    do
        [ -r $name ] && while read -r line; do echo "$name $line"; done < $name
    done
} > /run/container-mcp.report
exit $code)SH";

// Connects the socket of the exchange folder as descriptor 3 and becomes the program.
constexpr const char* connect_channel = R"PY(
import os, socket, sys
link = socket.socket(socket.AF_UNIX)
link.connect('/run/container-mcp/link')
if link.fileno() != 3:
    os.dup2(link.fileno(), 3)
os.set_inheritable(3, True)
os.execvp(sys.argv[1], sys.argv[1:])
)PY";

}  // namespace

std::vector<std::string> container_command(const sandbox::run_request& request, const std::string& required,
                                           std::uint64_t memory)
{
    const std::string folder = inside::folder;
    std::string script = script_beginning;
    script += "required='" + required + "' memory=" + std::to_string(memory) + look + program;
    if (request.merged) script += " 2>&1";
    if (request.input) script += " < " + folder + "/input";
    if (request.script && !request.channel) script += " 3< " + folder + "/script";
    if (request.result_channel) script += std::string(" 4> ") + inside::result;
    std::vector<std::string> argv{"/bin/sh", "-c", script + end, "sh"};
    if (request.channel) argv.insert(argv.end(), {request.argv.front(), "-c", connect_channel});
    argv.insert(argv.end(), request.argv.begin(), request.argv.end());
    return argv;
}

}  // namespace cmcp::engine
