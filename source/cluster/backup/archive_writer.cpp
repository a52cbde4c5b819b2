#include "backup/archive_writer.hpp"

#include "backup/backup_names.hpp"
#include "backup/tar_format.hpp"
#include "jsonrpc/write_json.hpp"

#include <algorithm>

namespace cmcp::backup {

void archive_writer::put(std::string_view bytes)
{
    digest_.put(bytes);
    to_.put(bytes);
    bytes_ += bytes.size();
}

void archive_writer::put_zeros(std::uint64_t count)
{
    static const std::string zeros(64 * 1024, '\0');
    for (; count > 0; count -= std::min<std::uint64_t>(count, zeros.size()))
        put(std::string_view(zeros).substr(0, std::min<std::uint64_t>(count, zeros.size())));
}

void archive_writer::begin(const entry& of)
{
    put(tar_header(of));
    left_ = of.stored();
    padding_ = padding_of(left_);
    ++entries_;
}

void archive_writer::content(std::string_view bytes)
{
    bytes = bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), left_)));
    put(bytes);
    left_ -= bytes.size();
}

void archive_writer::end()
{
    put_zeros(left_ + padding_);
    left_ = padding_ = 0;
}

void archive_writer::add_text(const std::string& path, std::string_view text)
{
    entry of;
    of.path = path;
    of.size = text.size();
    begin(of);
    content(text);
    end();
}

void archive_writer::finish()
{
    const json::object totals{{"entries", entries_}, {"bytes", bytes_}, {"sha256", digest_.hex()}};
    add_text(names::end, jsonrpc::write_json(totals));
    put_zeros(2 * tar_block);
}

}  // namespace cmcp::backup
