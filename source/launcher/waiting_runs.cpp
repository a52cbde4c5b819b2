#include "launcher/waiting_runs.hpp"

#include "jail/setup_step.hpp"

#include <sys/stat.h>

#include <algorithm>

namespace cmcp::sandbox {
namespace {

constexpr std::size_t shapes_kept = 4;

std::string identity_of(const std::string& folder)
{
    struct stat status {};
    if (folder.empty() || ::stat(folder.c_str(), &status) != 0) return {};
    return std::to_string(status.st_dev) + ':' + std::to_string(status.st_ino);
}

}  // namespace

run_request shape_of(run_request request)
{
    request.working_dir.clear();
    request.data_libraries = false;
    request.limits.wall = std::chrono::hours(24);
    request.limits.cpu = std::chrono::seconds(0);
    return request;
}

std::string shape_name(const run_request& shape, bool probe)
{
    return encode_start(0, probe, shape) + identity_of(shape.workspace);
}

void waiting_runs::add(std::uint64_t key, std::string shape) { children_.push_back({key, std::move(shape), false}); }

std::optional<std::string> waiting_runs::heard_of(std::uint64_t key)
{
    const auto at = std::find_if(children_.begin(), children_.end(), [key](const child& c) { return c.key == key; });
    if (at == children_.end() || !keeper_.find(key)->waits()) return std::nullopt;
    at->ready = true;
    return at->shape;
}

bool waiting_runs::is_ready(std::uint64_t key) const
{
    return std::any_of(children_.begin(), children_.end(), [key](const child& c) { return c.key == key && c.ready; });
}

std::optional<std::string> waiting_runs::forget(std::uint64_t key)
{
    const auto at = std::find_if(children_.begin(), children_.end(), [key](const child& c) { return c.key == key; });
    if (at == children_.end()) return std::nullopt;
    std::string shape = std::move(at->shape);
    children_.erase(at);
    return shape;
}

std::optional<std::uint64_t> waiting_runs::ready_for(const std::string& shape) const
{
    for (const child& each : children_)
        if (each.ready && each.shape == shape) return each.key;
    return std::nullopt;
}

bool waiting_runs::hand_over(const std::string& shape, const start_message& start,
                             const std::vector<unique_fd>& descriptors)
{
    while (const auto key = ready_for(shape))
        if (hand_over(*key, start, descriptors)) return true;
    return false;
}

bool waiting_runs::hand_over(std::uint64_t key, const start_message& start, const std::vector<unique_fd>& descriptors)
{
    forget(key);
    run* const waiting = keeper_.find(key);
    try {
        if (!waiting->fits(start.request)) throw step_failed("find the workspace as it was", ESTALE);
        waiting->begin(start, descriptors);
        return true;
    } catch (const std::exception&) {
        waiting->kill(cause::cancelled);
        return false;
    }
}

std::size_t waiting_runs::count(const std::string& shape) const
{
    return static_cast<std::size_t>(
        std::count_if(children_.begin(), children_.end(), [&](const child& c) { return c.shape == shape; }));
}

void waiting_runs::trim(const std::string& kept)
{
    // The last one of a shape goes only when each shape has no more: callers in turn then still find one each.
    for (const std::size_t left : {1, 0}) {
        for (std::size_t i = 0; i < children_.size() && children_.size() > shapes_kept * each_;) {
            const child& oldest = children_[i];
            const bool stays = !oldest.ready || oldest.shape == kept || count(oldest.shape) <= left;
            if (!stays)
                end(i);
            else
                ++i;
        }
    }
}

void waiting_runs::end(std::size_t place)
{
    keeper_.find(children_[place].key)->kill(cause::cancelled);
    children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(place));
}

}  // namespace cmcp::sandbox
