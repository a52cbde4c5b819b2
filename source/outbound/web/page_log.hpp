#pragma once

#include "jsonrpc/json.hpp"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// What a page wrote to its console, or failed at.
struct page_event {
    enum class kind { console, uncaught_error, failed_request };

    kind what = kind::console;
    std::string level{};  ///< of a console message: log, debug, info, warning, error
    std::string text{};   ///< of an error with its stack; of a request why it failed, where no status says so
    std::string at{};     ///< file:line:column; of a request its address
    int status = 0;       ///< of a request that was answered with an error; 0: it was not answered
    std::size_t times = 1;
};

/// The console of a page, its frames and its workers, as the events of the domains Runtime and Log of the DevTools
/// protocol tell it. Kept within bounds of number and bytes, whatever a page writes: messages, errors and requests have
/// shares of their own.
class page_log {
public:
    /// Takes an event; false: it is of another domain.
    bool hear(std::string_view method, const json::object& params);

    /// So much was heard that the page writes for another purpose than to be read.
    bool is_flooded() const;

    const std::vector<page_event>& events() const { return events_; }
    std::size_t left_out() const { return left_out_; }

private:
    struct share {
        std::size_t events = 0;
        std::size_t bytes = 0;
    };

    void hear_console(const json::object& params);
    void hear_exception(const json::object& params);
    void hear_entry(const json::object& entry);
    void keep(page_event event);
    share& share_of(const page_event& event);

    std::vector<page_event> events_;
    std::array<share, 4> shares_{};
    std::size_t left_out_ = 0;
    std::size_t heard_ = 0;
    std::size_t heard_bytes_ = 0;
};

/// The method of the event that stands for one that was too long to be read.
inline constexpr std::string_view unread_event = "Runtime.unread";

/// The events as lines for a reader of text, the most telling first; a bounded number. `page`: the address that is
/// shown, whose origin goes without saying.
std::vector<std::string> page_log_lines(const std::vector<page_event>& events, std::size_t left_out,
                                        std::string_view page);

}  // namespace cmcp
