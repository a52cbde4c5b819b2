#pragma once

#include "async/asio.hpp"
#include "jsonrpc/json.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace cmcp {

/// The caller of an administration, and what it may see and end.
struct admin_viewer {
    std::string principal;
    bool everything = false;  ///< else what belongs to the principal

    bool sees(std::string_view owner) const { return everything || owner == principal; }
};

/// A part of a long list.
struct admin_page {
    std::size_t limit = 100;
    std::string after{};  ///< the cursor of the part before
    std::string match{};  ///< a part of names and ids; empty: all
    std::string sort{};   ///< "used": the latest first; "disk": the largest first; empty: by id
};

/// The figures that the HTTP side knows.
struct admin_connections {
    std::size_t connections = 0;
    std::map<std::string, std::size_t> sessions;  ///< by principal
};

/// A place in the lists that grow: numbers of their latest entries.
struct list_positions {
    std::uint64_t ends = 0;
    std::uint64_t decisions = 0;
};

/// The entries that were added to those lists since a place, oldest first.
struct admin_news {
    json::array ends;
    json::array decisions;
    std::uint64_t dropped = 0;  ///< entries that came and went meanwhile
};

/// Shows and ends what runs in the server. docs/rest.md has the members of the objects. Throws http_refusal. An
/// interface, because the objects that know what runs are in districts above this one, and tests of routes have none of
/// them.
class admin_gateway {
public:
    virtual ~admin_gateway() = default;

    virtual awaitable<json::object> runs(admin_viewer by) = 0;
    virtual awaitable<json::object> sandboxes(admin_viewer by, admin_page part) = 0;
    virtual json::object jobs(const admin_viewer& by) = 0;
    virtual awaitable<json::object> usage(admin_viewer by, admin_connections known) = 0;
    virtual json::object ends(const admin_viewer& by) = 0;
    virtual json::object egress(const admin_viewer& by) = 0;
    /// The viewer's own latest calls, newest first, about one sandbox where that is not empty.
    virtual json::object calls(const admin_viewer& by, const std::string& sandbox) = 0;
    virtual json::object trends(const admin_viewer& by) = 0;  ///< figures of the last hour, oldest first
    virtual awaitable<json::object> layers(admin_viewer by) = 0;
    /// Begins to fetch an image: {"image", "there"}, and "progress" while it is not there. Throws gateway_error.
    virtual json::object pull_image(const std::string& name) = 0;

    virtual awaitable<json::object> health() = 0;  ///< the part of layers() that changes

    /// The latest records of the audit, newest first, of one kind where that is not empty; and how the audit is.
    virtual json::object audit(const admin_viewer& by, std::size_t most, std::string_view kind) = 0;
    /// Brings the figures of metrics::all() up to date that are not counted as things happen.
    virtual awaitable<> update_figures(admin_connections known) = 0;

    // False: there is none that the viewer sees.
    virtual awaitable<bool> end_run(admin_viewer by, std::string id) = 0;
    virtual awaitable<bool> delete_sandbox(admin_viewer by, std::string id) = 0;
    virtual bool cancel_job(const admin_viewer& by, const std::string& id) = 0;

    /// Copies a sandbox's files aside, with the variables of its kernels: {"copy", "kept_kernels", "busy_kernels"}.
    virtual awaitable<json::object> copy_sandbox(std::string id) = 0;

    virtual list_positions now() const = 0;
    virtual admin_news since(const admin_viewer& by, list_positions& place) = 0;  ///< moves the place

    /// Reads the settings again: {"changed", "needs_restart"}.
    virtual json::object reload() = 0;
};

}  // namespace cmcp
