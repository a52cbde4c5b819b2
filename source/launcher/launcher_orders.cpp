#include "jail/sealed_memory.hpp"
#include "jail/setup_step.hpp"
#include "launcher/launcher.hpp"
#include "launcher/standby_clones.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

// The orders of the server, with limits: a captured server does not make the launcher the attacker's tool. launcher.cpp
// has the loop.
namespace cmcp::sandbox {
namespace {

// Why `workspace` is none, as a sentence; empty: it is one, or `below` is empty. It has to lie below the folder
// `below`, without links on the way: above a workspace are only folders of the server, where no run can put a link.
std::string refuse_workspace(const std::string& workspace, const std::string& below)
{
    if (workspace.empty() || below.empty()) return {};
    open_how how{};
    how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
    const std::string inside = workspace.starts_with(below + "/") ? workspace.substr(below.size() + 1) : "..";
    const unique_fd root(::open(below.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const unique_fd folder(root ? static_cast<int>(::syscall(SYS_openat2, root.get(), inside.c_str(), &how, sizeof how))
                                : -1);
    if (folder) return {};
    if (errno == ENOENT) return explain_setup_failure("open workspace " + workspace, ENOENT);
    return "The workspace " + workspace + " is not below SANDBOX_ROOT without links. Nothing was run.";
}

// The zygote that was installed beside the launcher is the one program that it executes.
void check_zygote(const std::string& path)
{
    namespace fs = std::filesystem;
    std::error_code unknown;
    const fs::path beside = fs::read_symlink("/proc/self/exe", unknown).parent_path() / "container-mcp-zygote";
    if (unknown || fs::canonical(path, unknown) != fs::canonical(beside, unknown) || unknown)
        throw step_failed("open " + path, EPERM);
}

// The body of a start message, from the packet or from its first descriptor, which is taken.
std::string take_body(packet& message)
{
    if (kind_of(message.bytes) == message_kind::start) return message.bytes.substr(1);
    if (message.descriptors.empty()) throw step_failed("read the request", EBADMSG);
    const unique_fd memory = std::move(message.descriptors.front());
    message.descriptors.erase(message.descriptors.begin());
    return read_memory(memory.get(), "read the request");
}

}  // namespace

void launcher::read_server()
{
    while (!done_) {
        auto message = receive_packet(server_.get());
        if (!message) return;
        if (message->bytes.empty())
            done_ = true;
        else
            take_message(std::move(*message));
    }
}

void launcher::take_message(packet message)
{
    const auto kind = kind_of(message.bytes);
    if (kind == message_kind::start || kind == message_kind::start_in_memfd) return receive_start(std::move(message));
    if (kind == message_kind::cancel) return cancel(decode_cancel(message.bytes));
    if (kind == message_kind::prepare && !keeps_python_) prepare(decode_prepare(message.bytes));
}

void launcher::prepare(zygote_options options)
try {
    if (!obstacle_.empty() || firejail_)
        return tell_off(obstacle_.empty() ? "Firejail starts every run anew" : obstacle_);
    check_zygote(options.path);
    options.path = views_->protected_program(options.path);
    keeps_python_ = true;
    add_clones(std::move(options));
} catch (const step_failed& failure) {
    tell_off(explain_setup_failure(failure));
}

void launcher::tell_off(const std::string& why)
{
    tell(json::serialize(json::object{{"state", "off"}, {"detail", why}}));
}

// With the profile "auto" a second pool, asked first, serves the runs that use the libraries for data.
void launcher::add_clones(zygote_options options)
{
    using role = standby_clones::role;
    const bool both = options.profile == "auto";
    if (both) options.profile = "stdlib";
    pools_.insert(pools_.begin(), std::make_unique<standby_clones>(*this, options, role::main));
    if (!both) return;
    options.profile = "data";
    pools_.insert(pools_.begin(), std::make_unique<standby_clones>(*this, std::move(options), role::data));
}

void launcher::cancel(std::uint64_t id)
{
    const auto waited = [id](const uncounted_start& each) { return each.start.id == id; };
    bool waits = std::erase_if(uncounted_, waited) != 0;
    for (const auto& pool : pools_) waits = pool->cancel(id) || waits;
    if (waits) {
        ended_message ended{id, {}};
        ended.result.why = cause::cancelled;
        return send(encode_ended(ended));
    }
    for (auto& [key, each] : runs_)
        if (each->begun() && each->id() == id) return each->kill(cause::cancelled);
}

void launcher::receive_start(packet message)
{
    start_message start = decode_start(take_body(message));
    if (!obstacle_.empty()) return refuse(start.id, obstacle_);
    if (const std::string why = refuse_workspace(start.request.workspace, settings_.workspaces); !why.empty())
        return refuse(start.id, why);
    if (must_be_counted(start))
        uncounted_.push_back({std::move(start), std::move(message.descriptors)});
    else
        this->start(std::move(start), std::move(message.descriptors));
}

bool launcher::must_be_counted(const start_message& start)
try {
    const unique_fd folder = open_bounded_workspace(start.request);
    if (!folder) return false;
    const auto key = workspace_ledger::key_of(folder.get());
    return workspaces_.must_wait(key, folder.get(), workspace_bounds(start.request.limits));
} catch (const step_failed&) {
    return false;  // the start meets the same obstacle and tells it
}

void launcher::start_counted()
{
    workspaces_.collect();
    std::deque<uncounted_start> starts;
    starts.swap(uncounted_);
    for (auto& each : starts) {
        if (must_be_counted(each.start))
            uncounted_.push_back(std::move(each));
        else
            start(std::move(each.start), std::move(each.descriptors));
    }
}

void launcher::start(start_message start, std::vector<unique_fd> descriptors)
{
    for (const auto& pool : pools_)
        if (pool->take(start, descriptors)) return;
    start_cold(std::move(start), std::move(descriptors));
}

void launcher::start_cold(start_message start, std::vector<unique_fd> descriptors)
try {
    const std::uint64_t key = next_key();
    auto cold = std::make_unique<run>(parts(), key, start.request, start.probe);
    cold->launch(start, std::move(descriptors));
    keep(key, std::move(cold));
} catch (const std::exception& failure) {
    refuse(start.id, explain_setup_failure(failure));
}

void launcher::refuse(std::uint64_t id, const std::string& why)
{
    ended_message ended{id, {}};
    ended.result.error = why;
    send(encode_ended(ended));
}

}  // namespace cmcp::sandbox
