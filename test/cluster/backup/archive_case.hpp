#pragma once

#include "backup/archive_reader.hpp"
#include "backup/archive_writer.hpp"
#include "backup/backup_names.hpp"
#include "backup/restore.hpp"
#include "test/support/temporary_folder.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <utility>

namespace cmcp::test {

struct text_sink final : backup::byte_sink {
    std::string text;
    void put(std::string_view bytes) override { text.append(bytes); }
};

struct text_source final : backup::byte_source {
    explicit text_source(std::string of) : text(std::move(of)) {}
    std::size_t take(char* into, std::size_t most) override
    {
        const auto count = std::min(most, text.size() - at);
        std::memcpy(into, text.data() + at, count);
        at += count;
        return count;
    }
    std::string text;
    std::size_t at = 0;
};

/// A backup with what `fill` adds behind its first entry.
inline std::string archive_with(const std::function<void(backup::archive_writer&)>& fill,
                                const char* about = R"({"format":1})")
{
    text_sink sink;
    backup::archive_writer writer(sink);
    writer.add_text(backup::names::about, about);
    fill(writer);
    writer.finish();
    return sink.text;
}

inline backup::entry entry_at(std::string path, backup::entry::kind is = backup::entry::kind::file,
                              std::string target = {})
{
    backup::entry of;
    of.is = is;
    of.path = std::move(path);
    of.target = std::move(target);
    of.mode = is == backup::entry::kind::folder ? 0700 : 0600;
    return of;
}

inline void add(backup::archive_writer& to, backup::entry of, std::string_view text = {})
{
    of.size = of.is == backup::entry::kind::file ? std::max<std::uint64_t>(of.size, text.size()) : 0;
    to.begin(of);
    to.content(text);
    to.end();
}

inline void add_folders(backup::archive_writer& to, std::initializer_list<const char*> paths)
{
    for (const char* path : paths) add(to, entry_at(path, backup::entry::kind::folder));
}

inline backup::restored restore_into(const std::filesystem::path& root, std::string archive, bool force = false)
{
    text_source source(std::move(archive));
    backup::archive_reader reader(source);
    return backup::read_backup(reader, root, force, {});
}

inline std::string text_in(const std::filesystem::path& file)
{
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace cmcp::test
