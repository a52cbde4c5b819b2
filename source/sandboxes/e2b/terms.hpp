#pragma once

#include "jsonrpc/json.hpp"
#include "store/sandbox_store.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cmcp::e2b {

inline constexpr std::string_view daemon_version = "0.6.4";  ///< of E2B's envd, whose interface ours has

/// By this variable ss finds the list of sockets, which has no other place in a sandbox; E2B's waitForPort() is ss.
inline constexpr std::pair<std::string_view, std::string_view> root_of_figures{"PROC_ROOT", "/proc/self"};

/// What E2B's API knows of a sandbox beside its record; kept in the record (sandbox_record::terms).
struct terms {
    std::string made_from = "base";  ///< E2B's templateID
    std::string token;               ///< of the data plane
    json::object metadata;
    json::object variables;  ///< of all its programs
    json::object network;    ///< as the client has said it
    std::optional<bool> internet;
    double started = 0;    ///< seconds since 1970
    bool resumes = false;  ///< when a request comes
    bool secure = true;    ///< the data plane asks for the token
    bool is_open = true;   ///< whoever knows its id reaches its ports
    std::string of;        ///< a snapshot: the sandbox that it was taken from; empty: it is none
    std::string name;      ///< of a snapshot; may be empty
    json::object recipe;   ///< of a template, by which it was made (templates.cpp), and of what is made of it

    bool is_snapshot() const { return !of.empty(); }  ///< or a template: no sandbox of its own
    bool is_template() const { return is_snapshot() && !recipe.empty(); }
};

/// Nothing: the sandbox was not used by this API.
std::optional<terms> terms_of(const sandbox_record& record);
std::string text_of_terms(const terms& all);

/// A sandbox as E2B calls it, which is a part of a host's name: "<32 hex>-<node>".
std::string id_of(std::string_view handle);

/// Empty where the text is no such id.
std::string handle_of(std::string_view id);

std::string time_text(double seconds);  ///< RFC 3339

/// What a request has to bring to the sandbox's ports, where they are not open.
std::string traffic_token(const terms& of);

}  // namespace cmcp::e2b
