#pragma once

#include "jsonrpc/json.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp::jsonrpc {

/// The limits of one JSON text. A value takes more memory than its text, and time when it is copied and when it goes,
/// so values are counted before they are made.
struct json_bounds {
    std::size_t depth = 64;
    std::size_t values = 250'000;  ///< items of arrays and members of objects, those inside of others too
    std::size_t members = 50'000;  ///< of one object
};

/// Why a text could not be read.
struct json_fault {
    enum class kind { syntax, too_deep, too_many_values, too_many_members, number_out_of_range };

    kind is = kind::syntax;
    json::error_code code{};  ///< the parser's
    std::size_t at = 0;       ///< bytes before it

    /// "the message holds more than 250000 values; …" Empty for syntax, of which code and at tell more.
    std::string sentence(std::string_view subject, const json_bounds& bounds) const;
};

/// Reads a JSON text slice by slice, within bounds. Numbers with a point are the nearest that a double has.
class json_reader {
public:
    explicit json_reader(json_bounds bounds = {});
    json_reader(json_reader&&) noexcept;
    json_reader& operator=(json_reader&&) noexcept;
    ~json_reader();

    void begin(std::string_view text);  ///< which must stay as it is until the end

    /// Reads on until about `until`. False: there is more to read. True: there is a value, or a fault.
    bool read_until(std::chrono::steady_clock::time_point until);

    const std::optional<json_fault>& fault() const;
    json::value take();  ///< the value, where there is no fault

private:
    struct state;
    std::unique_ptr<state> state_;
};

/// All of a text at once; nothing where it cannot be read.
std::optional<json::value> read_bounded(std::string_view text, const json_bounds& bounds);

}  // namespace cmcp::jsonrpc
