#include "launcher/program.hpp"

#include "cell/cell_orders.hpp"
#include "facilities/setup_step.hpp"
#include "jail/jail.hpp"
#include "launcher/cell.hpp"
#include "wire/packet_socket.hpp"
#include "wire/wire.hpp"

#include <poll.h>

#include <stdexcept>
#include <system_error>
#include <utility>

namespace cmcp::sandbox {

void program::hear()
try {
    while (link_ && heard_ < most_messages) {
        std::optional<packet> heard = receive_packet(link_.get());
        if (!heard) return;
        ++heard_;
        if (heard->bytes.empty()) {
            heard_ = most_messages;  // it has been executed, or has ended
            return;
        }
        hear(wire_reader(heard->bytes), heard->descriptors);
    }
} catch (const std::runtime_error&) {  // of a message that cannot be read; there is no other after it
    heard_ = most_messages;
}

void program::hear(wire_reader message, std::vector<unique_fd>& descriptors)
{
    const auto says = message.next<child_says>();
    if (says == child_says::waiting) waits_ = true;
    if (says == child_says::executes) executes_ = true;
    if (says == child_says::listen && descriptors.size() == 1 && !std::exchange(has_listener_, true))
        listener_ = std::move(descriptors.front());
    if (says != child_says::failed || !failure_.empty()) return;
    const int error = message.next<int>();
    failure_ = explain_setup_failure(message.next<std::string>(), error);
}

bool program::runs_too_early() const
{
    pollfd refused{listener_.get(), POLLIN, 0};
    return kind_ && !waits_ && listener_ && ::poll(&refused, 1, 0) == 1 && (refused.revents & POLLIN) != 0;
}

bool program::suits(const start_message& start, bool loaded)
{
    if (!kind_) return true;
    if (!waits_ || loaded || kind_ != held_kind_of(start.request)) return false;
    held_start_ = encode_held_start(start).value_or(std::string());
    return !held_start_.empty();
}

bool program::begin(const cell& in, const waiting_start& start, bool loaded)
{
    if (start.descriptors.size() < 2) throw step_failed("receive descriptors", EBADMSG);
    stood_by_ = early_ && waits_;
    std::vector<int> numbers;
    for (const unique_fd& each : start.descriptors) numbers.push_back(each.get());
    const bool has_result = start.start.request.result_channel;
    in.give_pipes({numbers[0], numbers[1], has_result ? numbers.back() : -1});
    const auto outputs = in.lasts() ? run_outputs::of(numbers[0], numbers[1]) : run_outputs();
    try {
        if (in.lasts() && !send_packet(in.control(), encode_begin_order({number_, outputs})))
            throw step_failed("hand over the run", EAGAIN);
        return kind_ ? send_packet(link_.get(), held_start_, numbers)
                     : send_start(link_.get(), loaded, start.start, numbers);
    } catch (const std::system_error&) {
        return false;
    }
}

}  // namespace cmcp::sandbox
