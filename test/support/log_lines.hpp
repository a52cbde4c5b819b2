#pragma once

#include "log/log.hpp"
#include "test/support/catch.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace cmcp::test {

/// Sends the log to a file as JSON lines while the object lives. A test has at most one, and it outlives all that logs.
class log_lines {
public:
    explicit log_lines(log::level threshold = log::level::info)
        : file_(std::filesystem::temp_directory_path() / ("cmcp-log-lines-" + std::to_string(::getpid())))
    {
        std::filesystem::remove(file_);
        const std::string name = file_.string();
        log::configure({.threshold = threshold, .json_lines = true, .file = name});
    }
    log_lines(const log_lines&) = delete;
    log_lines& operator=(const log_lines&) = delete;
    ~log_lines()
    {
        log::configure({.threshold = log::level::info, .json_lines = false, .file = "/dev/stderr"});
        std::filesystem::remove(file_);
    }

    std::string text() const
    {
        std::ifstream in(file_);
        return {std::istreambuf_iterator<char>(in), {}};
    }

    std::vector<json::object> of(std::string_view event) const
    {
        std::vector<json::object> lines;
        std::ifstream in(file_);
        for (std::string line; std::getline(in, line);) {
            auto parsed = json::parse(line).as_object();
            if (parsed.at("event").as_string() == event) lines.push_back(std::move(parsed));
        }
        return lines;
    }

    json::object only(std::string_view event) const
    {
        const auto lines = of(event);
        INFO(text());
        REQUIRE(lines.size() == 1);
        return lines.front();
    }

private:
    std::filesystem::path file_;
};

/// A member that is text; empty when it is not there.
inline std::string member_text(const json::object& line, std::string_view name)
{
    const auto* member = line.if_contains(name);
    return member && member->is_string() ? std::string(member->get_string()) : std::string();
}

}  // namespace cmcp::test
