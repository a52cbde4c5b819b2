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

    void add(std::string method, std::string path, handler serve);

    /// 404 or 405 when no route fits, decided by the header alone.
    std::optional<http_reply> refuse(const http_request& asked) const;

    /// Runs the route; what it throws becomes a 500 without detail, except cancellation.
    awaitable<> serve(exchange& x) const;

private:
    struct route {
        std::string method;
        std::string path;
        handler serve;
    };
    const route* find(std::string_view method, std::string_view path) const;

    std::vector<route> routes_;
};

}  // namespace cmcp
