#pragma once

#include "envd/processes.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>

#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace cmcp::envd {

inline constexpr std::string_view metadata_prefix = "user.e2b.";  ///< of extended attributes

json::object metadata_of(const std::string& path);

/// EntryInfo of E2B. Throws refusal.
json::object entry_at(const std::string& path);

/// Makes the folders that the path needs. Throws refusal.
void make_parents(const std::string& path, const account& by);

/// E2B's filesystem.Filesystem, but for watches.
json::object stat_entry(const json::object& wish, const account& by);
json::object make_folder(const json::object& wish, const account& by);
json::object move_entry(const json::object& wish, const account& by);
json::object list_folder(const json::object& wish, const account& by);
json::object remove_entry(const json::object& wish, const account& by);

/// Changes below a folder, as streams and as events that are asked for.
class watches {
public:
    explicit watches(asio::any_io_executor executor) : executor_(std::move(executor)) {}

    awaitable<> stream(connection& by, const json::object& wish);
    json::object create(const json::object& wish, const account& by);
    json::object events(const json::object& wish);
    json::object remove(const json::object& wish);

private:
    struct watch;
    std::shared_ptr<watch> begin(const json::object& wish, const account& by, std::shared_ptr<subscription> to);
    static awaitable<> follow(std::shared_ptr<watch> one);

    asio::any_io_executor executor_;
    std::map<std::string, std::shared_ptr<watch>, std::less<>> named_;
    unsigned next_ = 1;
};

}  // namespace cmcp::envd
