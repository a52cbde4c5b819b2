#pragma once

#include "http/route.hpp"

#include <cstddef>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

namespace cmcp {

/// The table of routes.
class router {
public:
    void add(route entry)
    {
        if (entry.claims) owners_.push_back(routes_.size());
        routes_.push_back(std::move(entry));
    }
    const std::deque<route>& all() const { return routes_; }

    /// Fills `target` and `rpc_errors` by Host, method, path and Accept.
    void place(http_request& request) const;

    /// 404 or 405 for a request without a target.
    std::optional<http_reply> refuse(const http_request& request) const;

    /// The path of the table's entry, or "other", so that a peer's paths make no new names.
    std::string_view known_path(std::string_view path) const;

    /// Runs the request's target. An exception becomes a 500 without detail, except cancellation.
    awaitable<> serve(exchange& x) const;

private:
    const route* owner_of(const http_request& request) const;

    std::deque<route> routes_;         // requests point to its entries
    std::vector<std::size_t> owners_;  // that claim requests, among them
};

}  // namespace cmcp
