#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp::load {

enum class transport { sse, streamable, stateless, stdio };

std::string_view to_string(transport t);

/// A kind of request in the mix.
struct operation {
    std::string name;  ///< in reports
    std::string method;
    std::string tool;              ///< of tools/call
    std::string arguments = "{}";  ///< JSON object without blanks around it; of a method: its params
    std::string headers;           ///< "Name: value\r\n" each, on the HTTP request of a stateless call
    double weight = 1;
};

/// Reads NAME[:ARGUMENTS][*WEIGHT]: "ping", "tools/list", "system_env_var*3", "file_read:{\"path\":\"a.txt\"}*0.5". A
/// name with a slash and "ping" are methods, any other is a tool. Throws std::invalid_argument with a sentence.
operation parse_operation(std::string_view text);

/// The JSON-RPC request. `progress`: it carries a progress token, the id.
std::string request_text(const operation& what, transport over, std::int64_t id, bool progress);

std::string initialize_text(std::string_view revision);
std::string listen_text(std::int64_t id);  ///< subscriptions/listen of 2026-07-28
inline constexpr std::string_view initialized_text = R"({"jsonrpc":"2.0","method":"notifications/initialized"})";

/// Picks operations in proportion to their weights, evenly interleaved, the same sequence each time.
class mix {
public:
    explicit mix(std::vector<operation> all);

    std::size_t next();
    const std::vector<operation>& all() const { return all_; }

private:
    std::vector<operation> all_;
    std::vector<double> credit_;
    double total_ = 0;
};

}  // namespace cmcp::load
