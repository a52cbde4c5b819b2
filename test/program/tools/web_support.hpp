#pragma once

#include "config/settings.hpp"
#include "test/outbound/web/origin.hpp"
#include "test/program/tools/system_support.hpp"

namespace cmcp::test {

inline settings with_loopback()
{
    settings config = all_programs();
    config.web_allowed_private = {"127.0.0.1"};
    config.web_timeout_default = std::chrono::seconds(30);
    config.web_max_size = 1 << 20;
    return config;
}

/// The web tools over the real sandbox, and a web server for them.
struct web_stage : system_stage {
    explicit web_stage(settings base = with_loopback(), way started = way::cold)
        : system_stage(std::move(base), started)
    {
    }

    json::object scrape(const std::string& url, json::object more = {})
    {
        more["url"] = url;
        last = call("web_scrape", std::move(more));
        return last.structured;
    }
    json::object page(std::string html, json::object more = {}, std::string type = "text/html; charset=utf-8")
    {
        web.on("/page", send(answer(std::move(html), std::move(type))));
        return scrape(web.url("/page"), std::move(more));
    }

    origin web{io};
};

inline bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace cmcp::test
