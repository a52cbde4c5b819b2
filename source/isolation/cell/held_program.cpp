#include "cell/held_program.hpp"

#include "facilities/sealed_memory.hpp"
#include "facilities/setup_step.hpp"
#include "hold/held_start.hpp"
#include "hold/library.hpp"
#include "jail/closing.hpp"
#include "jail/payload.hpp"
#include "limits/limits.hpp"
#include "posix/child_process.hpp"
#include "posix/signals.hpp"
#include "wire/packet_socket.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace cmcp::sandbox {
namespace {

static_assert(held_packet_max == packet_limit);
constexpr std::size_t room_for_arguments = 2048;  // as far as /proc shows them
constexpr std::size_t room_for_variables = 2048;
constexpr std::array<std::string_view, 3> shells{"bash", "sh", "dash"};

void add_text(std::string& bytes, std::string_view text) { bytes.append(text).push_back('\0'); }

bool without_zeros(const std::vector<std::string>& texts)
{
    return std::none_of(texts.begin(), texts.end(),
                        [](const std::string& each) { return each.find('\0') != std::string::npos; });
}

// High first, because one of the two descriptors may have the other's number.
void install_held_descriptors(jail_plan& plan, int held_library)
{
    constexpr int out_of_the_way = 10;
    plan.control.reset(check(::fcntl(plan.control.get(), F_DUPFD_CLOEXEC, out_of_the_way), "place descriptors"));
    const unique_fd library(check(::fcntl(held_library, F_DUPFD_CLOEXEC, out_of_the_way), "place descriptors"));
    check(::dup2(library.get(), held_library_descriptor), "place descriptors");
    check(::dup2(plan.control.get(), held_control_descriptor), "place descriptors");
    for (int number = 0; number < held_library_descriptor; ++number)
        check(::fcntl(number, F_SETFD, 0), "place descriptors");
}

[[noreturn]] void execute_held(const held_kind& kind)
{
    std::vector<std::string> arguments{kind.path};
    arguments.resize(kind.arguments, ":");
    arguments.back() = std::string(room_for_arguments, ':');
    std::vector<std::string> variables{held_preload, std::string(room_for_variables, '=')};
    stop_ignoring_signals();
    ::execve(arguments[0].c_str(), pointers(arguments).data(), pointers(variables).data());
    throw step_failed("start program " + arguments[0]);
}

bool may_be_held(const run_request& request)
{
    const std::string& path = request.argv.at(0);
    const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
    return request.image.empty() && !request.machine && request.argv.size() > 1 &&
           std::find(shells.begin(), shells.end(), name) != shells.end();
}

}  // namespace

std::optional<held_kind> held_kind_of(const run_request& request)
{
    if (request.argv.empty() || request.terminal.columns != 0 || !may_be_held(request)) return std::nullopt;
    return held_kind{request.argv[0], request.argv.size(), request.limits.process_memory};
}

unique_fd held_library() { return sealed_memory("container-mcp-hold", held_library_bytes()); }

std::optional<std::string> encode_held_start(const start_message& start)
{
    const auto& request = start.request;
    const std::vector<std::string> environment = make_environment(request);
    held_start head{};
    head.arguments = static_cast<std::uint32_t>(request.argv.size() - 1);
    head.variables = static_cast<std::uint32_t>(environment.size());
    head.cpu_seconds = static_cast<std::uint64_t>(cpu_seconds(request.limits).count());
    head.file_size = request.limits.file_size;
    head.has_input = start.has_input;
    head.has_script = start.has_script;
    head.has_result = request.result_channel;
    std::string bytes(sizeof head, '\0');
    std::memcpy(bytes.data(), &head, sizeof head);
    add_text(bytes, request.working_dir);
    for (std::size_t i = 1; i < request.argv.size(); ++i) add_text(bytes, request.argv[i]);
    for (const auto& variable : environment) add_text(bytes, variable);
    const bool plain =
        without_zeros(request.argv) && without_zeros(environment) && without_zeros({request.working_dir});
    const bool fits = bytes.size() <= held_packet_max && head.variables <= held_variables_max;
    return plain && fits ? std::optional(std::move(bytes)) : std::nullopt;
}

void hold(jail_plan& plan, const run_request& expected, int library)
{
    const auto kind = held_kind_of(expected);
    if (!kind) throw step_failed("hold a shell", EINVAL);
    tell_listener(plan.control.get(), install_filters(plan));
    run_limits limits = plan.request.limits;
    limits.process_memory = kind->process_memory;
    limit_process_memory(limits, 0);
    install_held_descriptors(plan, library);
    execute_held(*kind);
}

}  // namespace cmcp::sandbox
