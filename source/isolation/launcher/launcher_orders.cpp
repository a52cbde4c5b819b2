#include "facilities/sealed_memory.hpp"
#include "facilities/setup_step.hpp"
#include "launcher/browser.hpp"
#include "launcher/launcher.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <utility>

// The orders of the server, with limits: a captured server does not make the launcher the attacker's tool. launcher.cpp
// has the loop.
namespace cmcp::sandbox {
namespace {

// The launcher's own maxima count, whatever a message says.
void clamp(run_limits& limits, const run_maxima& most)
{
    const auto bound = [](std::uint64_t& limit, std::uint64_t highest) {
        if (highest != 0) limit = std::min(limit, highest);
    };
    bound(limits.memory, most.memory);
    bound(limits.process_memory, most.memory);
    bound(limits.processes, most.processes);
    bound(limits.file_size, most.file_size);
    bound(limits.tmp_size, most.tmp_size);
    bound(limits.open_files, most.open_files);
    // The clock counts nanoseconds in 64 bits.
    constexpr std::chrono::hours longest(24 * 366 * 10);
    limits.wall = std::clamp<std::chrono::milliseconds>(limits.wall, std::chrono::milliseconds(0), longest);
    limits.cpu = std::clamp<std::chrono::seconds>(limits.cpu, std::chrono::seconds(0), longest);
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

// A message that cannot be understood is nobody's order; the runs of others go on.
void launcher::take_message(packet message)
try {
    const auto kind = kind_of(message.bytes);
    if (kind == message_kind::start || kind == message_kind::start_in_memfd) return receive_start(std::move(message));
    if (kind == message_kind::cancel) return cancel(decode_cancel(message.bytes));
    if (kind == message_kind::end_cell) return end_cell(decode_end_cell(message.bytes));
    if (kind == message_kind::hold_cells) return hold_cells(decode_hold_cells(message.bytes));
    if (kind == message_kind::open_socket) return open_socket(decode_open_socket(message.bytes));
    if (kind == message_kind::list_cells) return list_cells(decode_list_cells(message.bytes));
} catch (const std::exception& failure) {
    if (std::exchange(ignores_, true)) return;  // one line is enough to know of it
    std::fprintf(stderr, "container-mcp-launcher: a message of the server is ignored: %s\n", failure.what());
}

void launcher::keep_python()
try {
    if (!settings_.zygote) return;
    if (!obstacle_.empty() || firejail_)
        return tell_off(obstacle_.empty() ? "Firejail starts every run anew" : obstacle_);
    zygote_options options = *settings_.zygote;
    options.path = views_->protected_program(options.path);
    add_clones(std::move(options));
} catch (const step_failed& failure) {
    tell_off(explain_setup_failure(failure));
}

void launcher::tell_off(const std::string& why)
{
    tell(json::serialize(json::object{{"state", "off"}, {"detail", why}}));
}

// With the profile "auto" a second interpreter, asked first, serves the runs that use the libraries for data.
void launcher::add_clones(zygote_options options)
{
    using role = loaded_interpreter::role;
    const bool both = options.profile == "auto";
    if (both) options.profile = "stdlib";
    interpreters_.push_back(std::make_unique<loaded_interpreter>(*this, options, role::main));
    if (!both) return;
    options.profile = "data";
    interpreters_.insert(interpreters_.begin(),
                         std::make_unique<loaded_interpreter>(*this, std::move(options), role::data));
}

void launcher::cancel(std::uint64_t id)
{
    const auto waited = [id](const waiting_start& each) { return each.start.id == id; };
    bool waits = std::erase_if(early_, waited) != 0;
    for (const auto& [key, each] : live_cells_) {
        if (std::erase_if(each->waiting, waited) == 0) continue;
        if (!each->lasts()) each->end();
        waits = true;
    }
    if (waits) return tell_cancelled(id);
    for (auto& [key, each] : runs_)
        if (each->id() == id) return each->kill(cause::cancelled);
}

void launcher::receive_start(packet message)
{
    start_message start = decode_start(take_body(message));
    if (!obstacle_.empty()) return refuse(start.id, obstacle_);
    clamp(start.request.limits, settings_.most);
    if (start.request.browser) return start_browser(std::move(start), std::move(message.descriptors));
    if (must_wait(start))
        early_.push_back({std::move(start), std::move(message.descriptors)});
    else
        this->start(std::move(start), std::move(message.descriptors));
}

void launcher::start_browser(start_message start, std::vector<unique_fd> descriptors)
{
    const std::string obstacle = complete_browser(start, settings_.browser);
    if (!obstacle.empty()) return refuse(start.id, obstacle);
    this->start(std::move(start), std::move(descriptors));
}

void launcher::tell_cancelled(std::uint64_t id)
{
    ended_message ended{id, {}};
    ended.result.why = cause::cancelled;
    send(encode_ended(ended));
}

bool launcher::must_wait(const start_message& start) { return must_be_counted(start) || must_be_prepared(start); }

// Where it fails, the start meets the same obstacle and tells it.
bool launcher::must_be_prepared(const start_message& start)
try {
    if (!start.request.machine || settings_.machines == machines_allowed::none || !views_) return false;
    if (preparing_ >= 0) return true;
    const int begun = views_->begin_machines(ids_);
    if (begun < 0) return false;
    poll_.add(begun, prepared_tag);
    preparing_ = begun;
    return true;
} catch (const step_failed&) {
    return false;
}

void launcher::machines_are_prepared()
{
    poll_.remove(std::exchange(preparing_, -1));
    views_->finish_machines();
    start_those_that_wait();
}

bool launcher::must_be_counted(const start_message& start)
try {
    const run_request& request = start.request;
    if (request.workspace.empty() || !bounds_workspace(request.limits)) return false;
    const unique_fd folder = root_.open(request.workspace, O_RDONLY);
    const auto key = workspace_ledger::key_of(folder.get());
    return workspaces_.must_wait(key, folder.get(), workspace_bounds(start.request.limits));
} catch (const step_failed&) {
    return false;  // the start meets the same obstacle and tells it
}

void launcher::start_those_that_wait()
{
    workspaces_.collect();
    std::deque<waiting_start> starts;
    starts.swap(early_);
    for (auto& each : starts) {
        if (must_wait(each.start))
            early_.push_back(std::move(each));
        else
            start(std::move(each.start), std::move(each.descriptors));
    }
}

void launcher::refuse(std::uint64_t id, const std::string& why, bool no_room)
{
    ended_message ended{id, {}};
    ended.result.error = why;
    ended.result.no_room = no_room;
    send(encode_ended(ended));
}

}  // namespace cmcp::sandbox
