#include "launcher/live_cell.hpp"

#include "cell/cell_sockets.hpp"
#include "facilities/apparmor.hpp"
#include "facilities/setup_step.hpp"
#include "wire/packet_socket.hpp"
#include "wire/wire.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

namespace cmcp::sandbox {
namespace {

// A start's own parts do not count for the cell.
run_request shape_of_cell(run_request request)
{
    request.working_dir.clear();
    request.environment.clear();
    request.result_channel = false;
    request.prepared = false;
    request.terminal = {};
    return request;
}

// For comparing what one's own server says; a captured one harms its own cells alone.
std::size_t mark_of(const std::vector<given_file>& files)
{
    std::string all;
    for (const auto& [name, content] : files) all += name + '\0' + content + '\0';
    return std::hash<std::string>()(all);
}

}  // namespace

// Python runs in the shell's profile as it does when a shell starts it: one process can hand on one profile only.
live_cell::live_cell(const shared_parts& parts, const run_request& request, bool probe)
    : name_{request.principal, request.cell},
      shape_(request.shape),
      image_(request.image),
      view_(request.programs),
      first_program_(request.argv.empty() ? std::string() : request.argv.front()),
      library_(parts.held_library),
      ports_(request.doors),
      tools_(request.tools),
      files_(mark_of(request.files)),
      awaits_doors_(!ports_.empty() || tools_)
{
    const bool lasts = !request.cell.empty() && !probe;
    cell_ = std::make_shared<cell>(parts, lasts ? shape_of_cell(request) : request, probe, lasts);
    if (lasts && parts.with_apparmor) cell_->plan().apparmor = apparmor_profile_for("bash");
}

void live_cell::launch() { cell_->launch(); }

void live_cell::attach(cloned child)
{
    interprets_ = true;
    cell_->attach(std::move(child));
}

std::string live_cell::obstacle(const run_request& request) const
{
    const std::string end_it = "; end it first.";
    if (!cell_->has_workspace_of(request)) return "The sandbox's processes use another working folder" + end_it;
    if (request.image != image_) return "The sandbox's programs have another image, which was there before" + end_it;
    const bool same = request.programs.all == view_.all && request.programs.names == view_.names;
    if (!same || (!view_.all && request.argv.at(0) != first_program_))
        return "The sandbox's processes may execute other programs" + end_it;
    if (request.doors != ports_ || request.tools != tools_)
        return "The sandbox's processes were started with another network; end them first.";
    if (mark_of(request.files) != files_)
        return "The sandbox's processes were started with other secrets; end them first.";
    return {};
}

bool live_cell::hear()
{
    for (;;) {
        auto heard = receive_packet(cell_->control());
        if (!heard) return true;
        if (heard->bytes.empty()) return false;
        wire_reader message(heard->bytes);
        hear(message.next<child_says>(), message, heard->descriptors);
    }
}

void live_cell::hear(child_says says, wire_reader& message, std::vector<unique_fd>& descriptors)
{
    if (says == child_says::ready) cell_->hear_ready(descriptors);
    if (says == child_says::inside)
        cell_->hear_inside(message.next<int>(), descriptors.size() == 1 ? std::move(descriptors[0]) : unique_fd());
    if (says == child_says::program) hear_program(message);
    if (says == child_says::ended) hear_end(message.next<program_end>());
    if (says == child_says::refused) {
        const auto program = message.next<std::uint32_t>();
        refused_.push_back({program, message.next<std::string>()});
    }
    if (says == child_says::doors) return hear_doors(std::move(descriptors));
    if (says == child_says::socket) {
        const auto request = message.next<std::uint64_t>();
        hear_socket(request, message.next<int>(), std::move(descriptors));
    }
    if (says != child_says::failed) return;
    const int error = message.next<int>();
    failure_ = explain_setup_failure(message.next<std::string>(), error);
}

void live_cell::refuse_socket(std::uint64_t request, const std::string& why)
{
    handed_.push_back({{request, why}, {}});
}

// A first process that is busy or frozen keeps only its own requests waiting, and not many.
void live_cell::ask_socket(const socket_request& request)
{
    constexpr std::size_t most_wanted = 64;
    if (!has_process()) return refuse_socket(request.id, "The sandbox's processes are being started; try again.");
    if (wanted_.size() >= most_wanted || !send_packet(cell_->control(), encode_socket_order(request.id, request.kind)))
        return refuse_socket(request.id, "Too many connections to the sandbox are being made; try again.");
    wanted_.push_back({request.id, request.kind});
}

// A socket that nobody asked for is closed.
void live_cell::hear_socket(std::uint64_t request, int error, std::vector<unique_fd> descriptors)
{
    const auto is_it = [request](const wanted_socket& each) { return each.request == request; };
    const auto entry = std::find_if(wanted_.begin(), wanted_.end(), is_it);
    if (entry == wanted_.end()) return;
    const cell_socket kind = entry->kind;
    wanted_.erase(entry);
    const std::string no_socket = "The sandbox could not make a socket: ";
    if (error != 0 || descriptors.size() != 1) return refuse_socket(request, no_socket + std::strerror(error) + ".");
    if (const std::string why = socket_obstacle(descriptors.front().get(), kind); !why.empty())
        return refuse_socket(request, no_socket + why + ".");
    handed_.push_back({{request, {}}, std::move(descriptors.front())});
}

void live_cell::hear_doors(std::vector<unique_fd> descriptors)
{
    if (!awaits_doors_) return;
    const std::string why = doors_obstacle(descriptors, ports_.size(), tools_);
    if (!why.empty()) {
        failure_ = "The sandbox's network could not be handed over: " + why + ". Nothing was run.";
        return cell_->give_up(failure_);
    }
    awaits_doors_ = false;
    doors_ = std::move(descriptors);
}

std::vector<unique_fd> live_cell::take_doors()
{
    gave_doors_ = gave_doors_ || !doors_.empty();
    return std::exchange(doors_, {});
}

void live_cell::refuse_sockets()
{
    for (const wanted_socket& each : std::exchange(wanted_, {}))
        refuse_socket(each.request, "The sandbox's processes have ended.");
}

void live_cell::end()
{
    ends_ = true;
    cell_->kill(cause::cancelled);
}

cell_state live_cell::state() const { return {name_, cell_->processes(), cell_->memory(), cell_->cpu_time()}; }

}  // namespace cmcp::sandbox
