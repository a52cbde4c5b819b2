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
