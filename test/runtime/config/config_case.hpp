#pragma once

#include "config/load_settings.hpp"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace cmcp::test {

/// A folder of its own with configuration files, removed at the end, and an environment that only has HOME.
struct config_case {
    std::filesystem::path folder;
    settings_sources from;

    config_case()
    {
        std::string pattern = (std::filesystem::temp_directory_path() / "cmcp-config-XXXXXX").string();
        folder = ::mkdtemp(pattern.data());
        from.variables = {{"HOME", folder.string()}};
        from.trust_working_folder = false;
    }
    config_case(const config_case&) = delete;
    config_case& operator=(const config_case&) = delete;
    ~config_case() { std::filesystem::remove_all(folder); }

    std::filesystem::path write(std::string_view name, std::string_view text)
    {
        const auto file = folder / name;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file, std::ios::binary) << text;
        return file;
    }
    void env_file(std::string_view text) { from.env_file = write("custom.env", text); }
    void toml_file(std::string_view text) { from.toml_file = write("config.toml", text); }

    loaded_settings load() const { return load_settings(from); }

    /// The sentence with which the start is refused; empty: it is not.
    std::string refusal() const
    {
        try {
            load_settings(from);
        } catch (const config_error& e) {
            return e.what();
        }
        return {};
    }
};

inline bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace cmcp::test
