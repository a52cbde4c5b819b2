#pragma once

#include "async/blocking_pool.hpp"
#include "async/event.hpp"
#include "async/task_group.hpp"
#include "config/upstream_entry.hpp"
#include "upstream/upstream_link.hpp"
#include "upstream/upstream_state.hpp"
#include "upstream/upstream_tool.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace cmcp {

/// An upstream server: its list of tools and the calls of them. Io thread only.
class upstream_server : public std::enable_shared_from_this<upstream_server> {
public:
    static constexpr std::size_t most_calls = 32;  ///< at once

    /// `entry` must outlive this.
    upstream_server(asio::any_io_executor executor, const upstream_entry& entry, std::shared_ptr<upstream_link> link,
                    blocking_pool& pool);
    ~upstream_server();

    const upstream_entry& entry() const { return entry_; }

    void begin_to_know_tools();  ///< asks for the list where it is needed and not under way

    /// Waits for the list that is under way, if any, until it is there, its server has failed, or `patience` has passed
    /// since the list was asked for.
    awaitable<> wait_for_tools(std::chrono::milliseconds patience);
    const std::vector<upstream_tool>& tools() const { return tools_; }  ///< as far as they are known
    const upstream_tool* find(const std::string& tool) const;           ///< among them, until the next list; or null

    /// As upstream_servers::call().
    awaitable<json::object> call(std::string tool, json::object arguments, upstream_progress_handler on_progress);

    std::vector<std::string> problems() const;  ///< sentences
    upstream_state state() const;
    awaitable<> close();

private:
    using clock = event::clock;

    static awaitable<> refresh(std::shared_ptr<upstream_server> self);
    awaitable<> list_tools();
    awaitable<json::object> call_tool(std::string tool, json::object arguments, upstream_progress_handler on_progress);
    bool list_is_fresh() const;
    std::string sentence(const std::string& end) const;

    const upstream_entry& entry_;
    std::shared_ptr<upstream_link> link_;
    blocking_pool& pool_;
    std::vector<upstream_tool> tools_;
    std::vector<std::string> complaints_;  // about the list
    std::string failure_;                  // why there is no list; the end of a sentence
    std::string problem_;                  // the latest failure; empty: the latest answer was one
    clock::time_point listed_;             // when the list came, or its server failed; none: never
    clock::time_point asked_;              // when the list that is under way was asked for
    bool refreshing_ = false;
    bool outdated_ = true;
    bool failed_ = false;  // at the latest list
    event refreshed_;
    std::size_t running_ = 0;
    std::uint64_t calls_ = 0;
    task_group tasks_;
};

}  // namespace cmcp
