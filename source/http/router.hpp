#pragma once

#include "http/exchange.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// The table of paths and methods.
class router {
public:
    using handler = std::function<awaitable<>(exchange&)>;

    /// `path` may end with "/*": then everything below it is meant. `streams`: the route reads the body by itself.
    void add(std::string method, std::string path, handler serve, bool streams = false);

    /// For GET and HEAD of who takes HTML; for others there is nothing.
    void add_page(std::string path, handler serve);

    /// Whether the request's route reads the body by itself.
    bool streams(const http_request& asked) const;

    /// 404 or 405 when no route fits, decided by the header alone.
    std::optional<http_reply> refuse(const http_request& asked) const;

    /// The path as the table has it, or "other": a name from a fixed set for whatever a peer asked for.
    std::string_view known_path(std::string_view path) const;

    /// Runs the route; what it throws becomes a 500 without detail, except cancellation.
    awaitable<> serve(exchange& x) const;

private:
    struct route {
        std::string method;
        std::string path;
        handler serve;
        bool streams;
        bool is_page = false;
        bool fits(std::string_view asked) const;
    };
    const route* find(const http_request& asked) const;

    std::vector<route> routes_;
};

}  // namespace cmcp
