#include "cell/held_shell.hpp"

#include "jail/closing.hpp"
#include "jail/setup_step.hpp"
#include "wire/wire.hpp"

#include <signal.h>
#include <unistd.h>

#include <optional>
#include <utility>

namespace cmcp::sandbox {

held_shell::held_shell(jail_plan& plan, held_kind kind) : kind_(std::move(kind))
{
    auto [ours, theirs] = packet_socket_pair();
    process_ = check(::fork(), "start a process");
    if (process_ == 0) hold_in_cell(plan, kind_, std::move(theirs));
    link_ = std::move(ours);
}

void held_shell::hear()
{
    while (link_) {
        std::optional<packet> heard = receive_packet(link_.get());
        if (!heard) return;
        if (heard->bytes.empty()) return link_.reset();  // its end is collected
        const auto says = wire_reader(heard->bytes).next<child_says>();
        if (says == child_says::waiting) waits_ = true;
        if (says == child_says::listen && heard->descriptors.size() == 1) listener_ = std::move(heard->descriptors[0]);
    }
}

bool held_shell::begin(const start_message& start, const packet& order)
try {
    std::vector<int> numbers;
    for (std::size_t i = 2; i < order.descriptors.size(); ++i) numbers.push_back(order.descriptors[i].get());
    const std::string message = encode_held_start(start);
    const int control = order.descriptors[1].get();
    tell_listener(control, listener_);
    send_packet(control, encoded(child_says::waiting));
    ::kill(process_, SIGCONT);  // an inmate may have stopped it
    return link_ && send_packet(link_.get(), message, numbers);
} catch (const std::exception&) {
    return false;
}

void pass_on(const unique_fd& link, const unique_fd& control)
{
    while (link) {
        const std::optional<packet> heard = receive_packet(link.get());
        if (!heard || heard->bytes.empty()) return;
        send_packet(control.get(), heard->bytes);
    }
}

}  // namespace cmcp::sandbox
