#include "config/setting.hpp"
#include "jsonrpc/json.hpp"
#include "jsonrpc/write_json.hpp"
#include "server/commands.hpp"

#include <algorithm>
#include <iomanip>
#include <iostream>

namespace cmcp::command {

namespace {

std::string origin_of(const loaded_settings& loaded, std::string_view name)
{
    const auto origin = loaded.origins.find(name);
    return origin == loaded.origins.end() ? "default" : origin->second;
}

std::string shown_value(const loaded_settings& loaded, const setting& entry)
{
    const std::string value = entry.print(loaded.values);
    return entry.secret && !value.empty() ? "***" : value;
}

void print_settings_json(const loaded_settings& loaded)
{
    json::object all;
    for (const auto& entry : setting_table()) {
        json::object row;
        row["value"] = shown_value(loaded, entry);
        row["origin"] = origin_of(loaded, entry.name);
        row["description"] = entry.description;
        row["topic"] = entry.topic;
        all[entry.name] = std::move(row);
    }
    std::cout << jsonrpc::write_json(all) << '\n';
}

void print_settings_table(const loaded_settings& loaded)
{
    std::size_t width = 0;
    for (const auto& entry : setting_table()) width = std::max(width, entry.name.size());
    for (const auto& entry : setting_table()) {
        std::cout << std::left << std::setw(static_cast<int>(width)) << entry.name << "  " << shown_value(loaded, entry)
                  << "  (" << origin_of(loaded, entry.name) << ")\n";
    }
}

}  // namespace

int show_config(const loaded_settings& loaded, bool json)
{
    if (json)
        print_settings_json(loaded);
    else
        print_settings_table(loaded);
    return 0;
}

}  // namespace cmcp::command
