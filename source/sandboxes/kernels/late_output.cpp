#include "kernels/late_output.hpp"

#include "kernels/kernel_process.hpp"

#include <utility>

namespace cmcp {

namespace {

constexpr std::size_t most_late_bytes = 64 << 10;

bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

}  // namespace

awaitable<> late_output::receive(sandbox::stream from, std::string bytes)
{
    if (bytes.empty()) co_return;
    const auto to = to_;
    if (to)
        co_await to->receive(from, bytes);
    else
        keep(bytes);
}

// A call that has begun meanwhile is given the text of a display.
awaitable<> late_output::show(std::string kind, std::string content, std::string plain)
{
    const auto to = to_;
    if (to) {
        co_await to->show(std::move(kind), std::move(content));
        co_return;
    }
    if (!plain.empty()) keep(plain + "\n");
}

// The beginning goes once as much again has come, so that a flood costs no more than a copy of it.
void late_output::keep(const std::string& bytes)
{
    kept_ += bytes;
    if (kept_.size() < 2 * most_late_bytes) return;
    const auto extra = kept_.size() - most_late_bytes;
    kept_.erase(0, extra);
    dropped_ += extra;
}

std::string late_output::take()
{
    auto text = std::exchange(kept_, {});
    std::size_t extra = text.size() > most_late_bytes ? text.size() - most_late_bytes : 0;
    if (extra + dropped_ != 0)
        while (extra < text.size() && continues_character(text[extra])) ++extra;
    const auto dropped = std::exchange(dropped_, 0) + extra;
    if (dropped == 0) return text;
    return "[" + std::to_string(dropped) + " bytes before this were dropped]\n" + text.substr(extra);
}

}  // namespace cmcp
