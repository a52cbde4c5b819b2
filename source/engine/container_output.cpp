#include "engine/container_output.hpp"

#include "engine/engine_options.hpp"
#include "text/number.hpp"

#include <algorithm>

namespace cmcp::engine {
namespace {

// Names are those of cgroup v2 (Documentation/admin-guide/cgroup-v2.rst), then of v1.
void take(container_report& into, std::string_view name, std::string_view value)
{
    const auto number = read_number(value).value_or(0);
    if (name == "code") into.code = static_cast<int>(number);
    if (name == "lacks") into.lacks = std::string(value);
    if (name == "memory.events oom_kill" || name == "memory/memory.oom_control oom_kill")
        into.out_of_memory |= number != 0;
    if (name == "pids.events max" || name == "pids/pids.events max") into.out_of_processes |= number != 0;
    if (name == "memory.peak" || name == "memory/memory.max_usage_in_bytes") into.peak_memory = number;
    if (name == "cpu.stat usage_usec") into.cpu = std::chrono::microseconds(number);
    if (name == "cpuacct/cpuacct.usage") into.cpu = std::chrono::microseconds(number / 1000);
}

}  // namespace

void output_frames::read_head()
{
    if (head_[0] > 2 || head_[1] != 0 || head_[2] != 0 || head_[3] != 0)
        throw engine_error(0, "The engine sent output that is in no known form.");
    stream_ = head_[0] == 2 ? sandbox::stream::err : sandbox::stream::out;
    left_ = std::uint32_t{head_[4]} << 24 | std::uint32_t{head_[5]} << 16 | std::uint32_t{head_[6]} << 8 | head_[7];
    head_size_ = 0;
}

std::optional<output_frames::piece> output_frames::next(std::string_view& bytes)
{
    while (left_ == 0 && !bytes.empty()) {
        head_[head_size_++] = static_cast<unsigned char>(bytes.front());
        bytes.remove_prefix(1);
        if (head_size_ == sizeof head_) read_head();
    }
    if (bytes.empty()) return std::nullopt;
    const auto size = std::min<std::size_t>(left_, bytes.size());
    const piece text_piece{stream_, bytes.substr(0, size)};
    bytes.remove_prefix(size);
    left_ -= static_cast<std::uint32_t>(size);
    return text_piece;
}

container_report read_report(std::string_view text)
{
    container_report report;
    while (!text.empty()) {
        const auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        if (const auto space = line.rfind(' '); space != std::string_view::npos)
            take(report, line.substr(0, space), line.substr(space + 1));
    }
    return report;
}

}  // namespace cmcp::engine
