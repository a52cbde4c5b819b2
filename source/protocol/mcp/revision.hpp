#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace cmcp {

/// Released revisions of the Model Context Protocol, oldest first: comparable with <.
enum class revision { v2024_11_05, v2025_03_26, v2025_06_18, v2025_11_25, v2026_07_28 };

inline constexpr std::array<std::string_view, 5> revision_names{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25",
                                                                "2026-07-28"};

constexpr std::string_view to_string(revision r) { return revision_names[static_cast<std::size_t>(r)]; }

constexpr std::optional<revision> parse_revision(std::string_view text)
{
    for (std::size_t i = 0; i < revision_names.size(); ++i)
        if (revision_names[i] == text) return static_cast<revision>(i);
    return std::nullopt;
}

/// The stateless era: no initialize, no session.
constexpr bool is_modern(revision r) { return r >= revision::v2026_07_28; }

}  // namespace cmcp
