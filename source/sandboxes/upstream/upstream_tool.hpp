#pragma once

#include "jsonrpc/json.hpp"

#include <memory>
#include <string>

namespace cmcp {

/// A tool of an upstream server. Texts have no control, formatting and invisible characters, and are bounded.
struct upstream_tool {
    std::string server;  ///< the name of its entry in config.toml
    std::string name;    ///< [A-Za-z0-9_.-]{1,64}, unique in its server
    std::string title;   ///< may be empty
    std::string description;
    json::object input_schema;
    json::object output_schema;                       ///< empty: none
    bool read_only = false;                           ///< as the server says
    std::shared_ptr<const json::object> described{};  ///< all of it, like described_to_code(), named <server>.<tool>
};

}  // namespace cmcp
