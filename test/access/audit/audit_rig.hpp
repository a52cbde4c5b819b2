#pragma once

#include "audit/audit_report.hpp"
#include "audit/journal.hpp"
#include "audit/record_text.hpp"
#include "test/support/catch.hpp"
#include "test/support/temporary_folder.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>

namespace cmcp::test {

/// An audit in a folder of its own, which a test writes, changes and checks.
struct audit_rig {
    audit::journal_options options(std::uint64_t file_size = 64u << 20, std::size_t keep = 0) const
    {
        return {folder(), root.path / "keys", file_size, keep};
    }
    std::filesystem::path folder() const { return root.path / "audit"; }

    static void call(audit::journal& into, std::string_view who, std::string_view tool = "system_env_var")
    {
        note(into, audit::kind::call, {{"principal", who}, {"tool", tool}, {"cause", "ok"}});
    }
    static void note(audit::journal& into, audit::kind is, log::fields with = {})
    {
        std::string fields;
        audit::append_fields(fields, with);
        into.add({std::chrono::system_clock::now(), is, fields, {}});
    }

    /// A server's life with `calls` calls.
    void live(int calls, std::uint64_t file_size = 64u << 20, std::size_t keep = 0) const
    {
        audit::journal own(options(file_size, keep));
        note(own, audit::kind::start, {{"version", "1"}});
        for (int i = 0; i < calls; ++i) {
            call(own, "ann");
            if (i % 2 == 1) REQUIRE(own.seal());
        }
        note(own, audit::kind::stop);
        REQUIRE(own.seal());
        REQUIRE(own.seal());
    }

    audit::audit_report report(audit::report_options wanted = {}) const
    {
        return check_audit(folder(), std::move(wanted));
    }

    /// "file, line n: what", or empty.
    std::string fault(audit::report_options wanted = {}) const
    {
        const auto checked = report(std::move(wanted));
        if (!checked.bad) return {};
        return checked.bad->file + ", line " + std::to_string(checked.bad->fault.line) + ": " +
               checked.bad->fault.problem;
    }

    std::filesystem::path last_file() const { return audit::files_in(folder()).back().path; }

    temporary_folder root;
};

inline std::string content_of(const std::filesystem::path& file)
{
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_content(const std::filesystem::path& file, std::string_view text)
{
    std::filesystem::remove(file);  // to cut a file down may wait for the disk
    std::ofstream(file, std::ios::binary) << text;
}

/// Files that hold the audit, by name.
inline std::map<std::string, std::string> contents_of(const std::filesystem::path& folder)
{
    std::map<std::string, std::string> all;
    for (const auto& each : std::filesystem::directory_iterator(folder))
        if (each.path().filename() != audit::lock_name) all[each.path().filename().string()] = content_of(each.path());
    return all;
}

}  // namespace cmcp::test
