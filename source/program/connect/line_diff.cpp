#include "connect/line_diff.hpp"

#include <algorithm>
#include <vector>

namespace cmcp::connect {

namespace {

constexpr std::size_t around = 3;

std::vector<std::string_view> lines_of(std::string_view text)
{
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const auto length = std::min(text.find('\n'), text.size() - 1) + 1;
        lines.push_back(text.substr(0, length));
        text.remove_prefix(length);
    }
    return lines;
}

std::string masked(std::string_view line)
{
    constexpr std::string_view scheme = "Bearer ";
    std::string shown;
    for (auto at = line.find(scheme); at != std::string_view::npos; at = line.find(scheme)) {
        const auto secret = at + scheme.size();
        const auto end = std::min(line.find_first_of("\"'\r\n", secret), line.size());
        shown.append(line.substr(0, secret)).append(line[secret] == '$' ? line.substr(secret, end - secret) : "…");
        line.remove_prefix(end);
    }
    return shown.append(line);
}

void add(std::string& to, char sign, std::string_view line)
{
    to += sign;
    to += masked(line);
    if (!line.ends_with('\n')) to += "\n\\ No newline at end of file\n";
}

std::string range(std::size_t first, std::size_t count)
{
    return std::to_string(count == 0 ? first : first + 1) + "," + std::to_string(count);
}

}  // namespace

std::string line_diff(std::string_view before, std::string_view after, const std::string& name)
{
    if (before == after) return {};
    const auto old = lines_of(before), fresh = lines_of(after);
    const auto most = std::min(old.size(), fresh.size());
    std::size_t head = 0, tail = 0;
    while (head < most && old[head] == fresh[head]) ++head;
    while (tail < most - head && old[old.size() - 1 - tail] == fresh[fresh.size() - 1 - tail]) ++tail;
    const std::size_t begin = head - std::min(head, around), behind = std::min(tail, around);
    const auto length = [&](const auto& lines) { return lines.size() - tail + behind - begin; };
    std::string text = "--- " + (before.empty() ? "/dev/null" : name) + "\n+++ " + name + "\n@@ -" +
                       range(begin, length(old)) + " +" + range(begin, length(fresh)) + " @@\n";
    for (std::size_t i = begin; i < head; ++i) add(text, ' ', old[i]);
    for (std::size_t i = head; i < old.size() - tail; ++i) add(text, '-', old[i]);
    for (std::size_t i = head; i < fresh.size() - tail; ++i) add(text, '+', fresh[i]);
    for (std::size_t i = old.size() - tail; i < old.size() - tail + behind; ++i) add(text, ' ', old[i]);
    return text;
}

}  // namespace cmcp::connect
