#include "text/handles.hpp"

#include "text/random_id.hpp"

#include <algorithm>

namespace cmcp {

namespace {

constexpr std::size_t random_digits = 32;
constexpr std::size_t longest_node = 32;
constexpr std::size_t shortest_kind = 2;
constexpr std::size_t longest_kind = 8;

bool is_kind(std::string_view text)
{
    const auto lower = [](char c) { return c >= 'a' && c <= 'z'; };
    return text.size() >= shortest_kind && text.size() <= longest_kind && std::all_of(text.begin(), text.end(), lower);
}

bool plain(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; }

}  // namespace

std::string handle_maker::cleaned(std::string_view name)
{
    std::string cleaned_name;
    for (char c : name.substr(0, longest_node)) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        cleaned_name += plain(c) ? c : '-';
    }
    return cleaned_name.empty() ? "node" : cleaned_name;
}

handle_maker::handle_maker(std::string_view node) : node_(cleaned(node)) {}

std::string handle_maker::make(std::string_view kind) const
{
    return std::string(kind) + "_" + node_ + "_" + random_id(random_digits / 2);
}

bool handle_maker::fits(std::string_view kind, std::string_view text)
{
    if (!text.starts_with(kind) || text.size() < kind.size() + 2 + random_digits) return false;
    text.remove_prefix(kind.size());
    const auto random = text.substr(text.size() - random_digits);
    const auto node = text.substr(0, text.size() - random_digits);
    const auto hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
    if (node.size() < 3 || node.size() > longest_node + 2 || node.front() != '_' || node.back() != '_') return false;
    return std::all_of(random.begin(), random.end(), hex) && std::all_of(node.begin() + 1, node.end() - 1, plain);
}

std::string_view handle_maker::node_of(std::string_view text)
{
    const auto kind = text.substr(0, text.find('_'));
    if (!is_kind(kind) || !fits(kind, text)) return {};
    return text.substr(kind.size() + 1, text.size() - kind.size() - 2 - random_digits);
}

}  // namespace cmcp
