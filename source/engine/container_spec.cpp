#include "engine/container_spec.hpp"

#include <algorithm>

#include <sys/resource.h>

namespace cmcp::engine {
namespace {

constexpr uid_t nobody_elses = 199'999;  // just below the ids that runs of the native backend have

std::string pair_of(uid_t uid, gid_t gid) { return std::to_string(uid) + ":" + std::to_string(gid); }

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

// Connects the socket of the exchange folder as descriptor 3 and becomes the program. Nothing of the caller (-I) runs
// before that.
constexpr const char* connect_channel = R"PY(
import os, socket, sys
link = socket.socket(socket.AF_UNIX)
link.connect('/run/container-mcp/link')
if link.fileno() != 3:
    os.dup2(link.fileno(), 3)
os.set_inheritable(3, True)
os.execvp(sys.argv[1], sys.argv[1:])
)PY";

constexpr std::uint64_t own_processes = 3;  // init, the shell around the program, and the runtime's while it starts
constexpr std::uint64_t least_memory = 16ull << 20;  // below that, runtimes fail in ways that nobody understands

std::uint64_t memory_of(const sandbox::run_request& request) { return std::max(request.limits.memory, least_memory); }

json::object limit(const char* name, std::uint64_t value) { return {{"Name", name}, {"Soft", value}, {"Hard", value}}; }

// PidsLimit is what bounds a run: this number counts for all containers of an id together. It must be given because an
// engine's own default may be more than it can set without CAP_SYS_RESOURCE; Podman lowers its own to 32768.
std::uint64_t processes_of_this_machine()
{
    rlimit own{};
    ::getrlimit(RLIMIT_NPROC, &own);
    return std::min<std::uint64_t>(own.rlim_max, 32'768);
}

json::array limits_of_processes(const sandbox::run_limits& limits)
{
    const auto wall = std::chrono::ceil<std::chrono::seconds>(limits.wall);
    const auto cpu = static_cast<std::uint64_t>((limits.cpu.count() != 0 ? limits.cpu : 2 * wall).count());
    // A core limit of 0 lets a kernel whose core_pattern is a pipe hand the memory to a program outside (core(5)).
    json::array spec{limit("nofile", limits.open_files), limit("nproc", processes_of_this_machine()),
                     limit("fsize", limits.file_size), limit("core", 1)};
    // Soft before hard: the first is a signal that says why.
    spec.push_back({{"Name", "cpu"}, {"Soft", cpu}, {"Hard", cpu + 1}});
    return spec;
}

json::object shown(const std::string& source, const std::string& target, bool read_only)
{
    json::object spec{{"Type", "bind"}, {"Source", source}, {"Target", target}, {"ReadOnly", read_only}};
    spec["BindOptions"] = json::object{{"Propagation", "rprivate"}};
    return spec;
}

json::array mounts(const sandbox::run_request& request, const exchange_folder& exchange)
{
    json::array spec;
    if (!request.workspace.empty()) spec.push_back(shown(request.workspace, request.workspace_inside, false));
    spec.push_back(shown(exchange.shown().string(), inside::folder, true));
    spec.push_back(shown(exchange.result_file().string(), inside::result, false));
    spec.push_back(shown(exchange.report_file().string(), inside::report, false));
    return spec;
}

// A volume of an image would be written to the engine's disk without a limit.
json::object memory_folders(const sandbox::run_request& request, const image_facts& image)
{
    const std::string options = "rw,exec,nosuid,nodev,size=" + std::to_string(request.limits.tmp_size) + ",mode=1777";
    json::object spec;
    spec["/tmp"] = options;
    for (const auto& volume : image.volumes)
        if (volume != request.workspace_inside) spec[volume] = options;
    return spec;
}

json::object host_settings(const sandbox::run_request& request, const engine_options& options,
                           const container_user& user, const image_facts& image, const exchange_folder& exchange)
{
    const std::uint64_t memory = memory_of(request);
    json::object spec;
    spec["ReadonlyRootfs"] = true;
    spec["NetworkMode"] = "none";
    spec["IpcMode"] = "private";
    spec["CapDrop"] = json::array{"ALL"};
    spec["SecurityOpt"] = json::array{"no-new-privileges"};
    spec["Init"] = true;
    spec["Memory"] = memory;
    spec["MemorySwap"] = memory;
    spec["PidsLimit"] = request.limits.processes + own_processes;
    spec["ShmSize"] = request.limits.tmp_size;
    spec["Ulimits"] = limits_of_processes(request.limits);
    spec["Tmpfs"] = memory_folders(request, image);
    spec["Mounts"] = mounts(request, exchange);
    spec["LogConfig"] = json::object{{"Type", "none"}};  // output is for the caller, not for the engine's disk
    spec["RestartPolicy"] = json::object{{"Name", "no"}};
    if (!user.user_namespace.empty()) spec["UsernsMode"] = user.user_namespace;
    if (!options.runtime.empty()) spec["Runtime"] = options.runtime;
    return spec;
}

json::array environment(const sandbox::run_request& request)
{
    json::array spec;
    for (const auto& [name, value] : request.environment) spec.emplace_back(name + "=" + value);
    spec.emplace_back("HOME=" + request.workspace_inside);
    return spec;
}

}  // namespace

container_user choose_user(const engine_facts& engine, uid_t uid, gid_t gid)
{
    if (engine.rootless && uid != 0)
        return engine.podman ? container_user{pair_of(uid, gid), "keep-id", {}} : container_user{"0:0", {}, {}};
    if (uid != 0) return {pair_of(uid, gid), {}, {}};
    return {pair_of(nobody_elses, nobody_elses), {}, nobody_elses};
}

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
    if (request.channel) argv.insert(argv.end(), {request.argv.front(), "-I", "-c", connect_channel});
    argv.insert(argv.end(), request.argv.begin(), request.argv.end());
    return argv;
}

std::vector<std::string> own_labels(const engine_options& options)
{
    return {std::string(label::node) + "=" + options.node, std::string(label::root) + "=" + options.root};
}

json::object container_spec(const sandbox::run_request& request, const engine_options& options,
                            const container_user& user, const image_facts& image, const exchange_folder& exchange)
{
    const auto command = container_command(request, options.required, memory_of(request));
    json::object spec;
    spec["Image"] = request.image;
    spec["Entrypoint"] = json::array{json::string(command.front())};
    spec["Cmd"] = json::value_from(std::vector<std::string>(command.begin() + 1, command.end()));
    spec["User"] = user.name;
    spec["WorkingDir"] = request.working_dir.empty() ? request.workspace_inside : request.working_dir;
    spec["Env"] = environment(request);
    spec["Hostname"] = "sandbox";
    spec["NetworkDisabled"] = true;
    spec["AttachStdout"] = true;
    spec["AttachStderr"] = true;
    spec["Healthcheck"] = json::object{{"Test", json::array{"NONE"}}};
    json::object labels;
    labels[label::node] = options.node;
    labels[label::root] = options.root;
    labels[label::server] = options.server;
    labels[label::sandbox] = request.sandbox;
    spec["Labels"] = std::move(labels);
    spec["HostConfig"] = host_settings(request, options, user, image, exchange);
    return spec;
}

}  // namespace cmcp::engine
