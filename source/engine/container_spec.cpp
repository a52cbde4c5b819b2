#include "engine/container_spec.hpp"

#include "engine/container_shell.hpp"

#include <algorithm>

#include <sys/resource.h>

namespace cmcp::engine {
namespace {

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
    json::array made{limit("nofile", limits.open_files), limit("nproc", processes_of_this_machine()),
                     limit("fsize", limits.file_size), limit("core", 1)};
    // Soft before hard: the first is a signal that says why.
    made.push_back({{"Name", "cpu"}, {"Soft", cpu}, {"Hard", cpu + 1}});
    return made;
}

json::object shown(const std::string& source, const std::string& target, bool read_only)
{
    json::object made{{"Type", "bind"}, {"Source", source}, {"Target", target}, {"ReadOnly", read_only}};
    made["BindOptions"] = json::object{{"Propagation", "rprivate"}};
    return made;
}

json::array mounts(const sandbox::run_request& request, const exchange_folder& exchange)
{
    json::array made;
    if (!request.workspace.empty()) made.push_back(shown(request.workspace, request.workspace_inside, false));
    made.push_back(shown(exchange.shown().string(), inside::folder, true));
    made.push_back(shown(exchange.result_file().string(), inside::result, false));
    made.push_back(shown(exchange.report_file().string(), inside::report, false));
    return made;
}

// What an image declares as a volume would be written to the engine's disk without a limit.
json::object memory_folders(const sandbox::run_request& request, const image_facts& image)
{
    const std::string options = "rw,exec,nosuid,nodev,size=" + std::to_string(request.limits.tmp_size) + ",mode=1777";
    json::object made;
    made["/tmp"] = options;
    for (const auto& volume : image.volumes)
        if (volume != request.workspace_inside) made[volume] = options;
    return made;
}

json::object host_settings(const sandbox::run_request& request, const engine_options& chosen,
                           const container_user& user, const image_facts& image, const exchange_folder& exchange)
{
    const std::uint64_t memory = memory_of(request);
    json::object made;
    made["ReadonlyRootfs"] = true;
    made["NetworkMode"] = "none";
    made["IpcMode"] = "private";
    made["CapDrop"] = json::array{"ALL"};
    made["SecurityOpt"] = json::array{"no-new-privileges"};
    made["Init"] = true;
    made["Memory"] = memory;
    made["MemorySwap"] = memory;
    made["PidsLimit"] = request.limits.processes + own_processes;
    made["ShmSize"] = request.limits.tmp_size;
    made["Ulimits"] = limits_of_processes(request.limits);
    made["Tmpfs"] = memory_folders(request, image);
    made["Mounts"] = mounts(request, exchange);
    made["LogConfig"] = json::object{{"Type", "none"}};  // output is for the caller, not for the engine's disk
    made["RestartPolicy"] = json::object{{"Name", "no"}};
    if (!user.user_namespace.empty()) made["UsernsMode"] = user.user_namespace;
    if (!chosen.runtime.empty()) made["Runtime"] = chosen.runtime;
    return made;
}

json::array environment(const sandbox::run_request& request)
{
    json::array made;
    for (const auto& [name, value] : request.environment) made.emplace_back(name + "=" + value);
    made.emplace_back("HOME=" + request.workspace_inside);
    return made;
}

}  // namespace

std::vector<std::string> own_labels(const engine_options& chosen)
{
    return {std::string(label::node) + "=" + chosen.node, std::string(label::root) + "=" + chosen.root};
}

json::object container_spec(const sandbox::run_request& request, const engine_options& chosen,
                            const container_user& user, const image_facts& image, const exchange_folder& exchange)
{
    const auto command = container_command(request, chosen.required, memory_of(request));
    json::object made;
    made["Image"] = request.image;
    made["Entrypoint"] = json::array{json::string(command.front())};
    made["Cmd"] = json::value_from(std::vector<std::string>(command.begin() + 1, command.end()));
    made["User"] = user.name;
    made["WorkingDir"] = request.working_dir.empty() ? request.workspace_inside : request.working_dir;
    made["Env"] = environment(request);
    made["Hostname"] = "sandbox";
    made["NetworkDisabled"] = true;
    made["AttachStdout"] = true;
    made["AttachStderr"] = true;
    made["Healthcheck"] = json::object{{"Test", json::array{"NONE"}}};
    json::object labels;
    labels[label::node] = chosen.node;
    labels[label::root] = chosen.root;
    labels[label::server] = chosen.server;
    labels[label::sandbox] = request.sandbox;
    made["Labels"] = std::move(labels);
    made["HostConfig"] = host_settings(request, chosen, user, image, exchange);
    return made;
}

}  // namespace cmcp::engine
