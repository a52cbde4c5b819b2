#include "backup/archive_reader.hpp"

#include "backup/backup_names.hpp"
#include "backup/bad_archive.hpp"
#include "backup/tar_format.hpp"
#include "jsonrpc/read_object.hpp"
#include "text/number.hpp"

#include <algorithm>
#include <array>

namespace cmcp::backup {

namespace {

constexpr std::size_t longest_end = 4096;

std::uint64_t map_number(std::string& map, std::size_t& at)
{
    const auto end = map.find('\n', at);
    const auto value = end == std::string::npos
                           ? std::nullopt
                           : read_number<std::uint64_t>(std::string_view(map).substr(at, end - at));
    if (!value) throw bad_archive("the archive is damaged: the map of a sparse file");
    at = end + 1;
    return *value;
}

}  // namespace

std::string archive_reader::take(std::size_t count)
{
    std::string bytes(count, '\0');
    const auto length = from_.take(bytes.data(), count);
    if (length < count) throw bad_archive("the archive ends in the middle: it was not copied whole");
    digest_.put(bytes);
    bytes_ += count;
    return bytes;
}

void archive_reader::skip_rest()
{
    for (; left_ > 0; left_ -= std::min<std::uint64_t>(left_, 64 * 1024))
        (void)take(static_cast<std::size_t>(std::min<std::uint64_t>(left_, 64 * 1024)));
    if (padding_ > 0) (void)take(padding_);
    padding_ = 0;
}

// The map stands in whole blocks before the data: a count, then offset and length of each range, a line each.
void archive_reader::read_map(entry& of)
{
    std::string map = take(tar_block);
    std::size_t at = 0;
    const auto count = map_number(map, at);
    if (count > most_data_ranges) throw bad_archive("the archive has a sparse file in too many pieces");
    std::uint64_t last = 0;
    for (std::uint64_t i = 0; i < 2 * count; ++i) {
        while (map.find('\n', at) == std::string::npos && map.size() < longest_records) map += take(tar_block);
        const auto value = map_number(map, at);
        if (i % 2 == 0)
            of.data.emplace_back(value, 0);
        else
            of.data.back().second = value;
        const auto [offset, length] = of.data.back();
        if (offset < last || offset > of.size || length > of.size - offset)
            throw bad_archive("the archive is damaged: the map of a sparse file");
        if (i % 2 == 1) last = offset + length;
    }
    if (left_ < map.size() || left_ - map.size() != of.stored())
        throw bad_archive("the archive is damaged: the size of a sparse file");
    left_ -= map.size();
}

std::optional<entry> archive_reader::next()
{
    skip_rest();
    if (ended_) return std::nullopt;
    const auto digest = digest_.hex();
    const auto bytes = bytes_;
    auto header = read_tar_header(take(tar_block));
    if (!header) throw bad_archive("the archive ends before its end entry: it was not written whole");
    if (header->type == 'x') {
        if (header->stored > longest_records) throw bad_archive("the archive has an entry with too long a header");
        const auto records = take(static_cast<std::size_t>(header->stored));
        (void)take(padding_of(header->stored));
        header = read_tar_header(take(tar_block));
        if (!header || header->type == 'x') throw bad_archive("the archive is damaged: a header without its entry");
        apply_records(read_pax_records(records), *header);
    }
    entry of = std::move(header->of);
    if (of.is != entry::kind::file && header->stored != 0)
        throw bad_archive("the archive is damaged: a folder or link with content");
    left_ = header->stored;
    padding_ = padding_of(left_);
    if (of.sparse) read_map(of);
    ++entries_;
    if (of.path != names::end) return of;
    check_end(of, digest, bytes);
    return std::nullopt;
}

void archive_reader::check_end(const entry& last, const std::string& digest, std::uint64_t bytes)
{
    if (last.is != entry::kind::file) throw bad_archive("the archive is damaged: its end is no file");
    const auto totals = jsonrpc::read_object(text(longest_end));
    if (text_of(totals, "sha256") != digest || number_of(totals, "bytes") != static_cast<std::int64_t>(bytes) ||
        number_of(totals, "entries") != static_cast<std::int64_t>(entries_ - 1))
        throw bad_archive("the archive is not as it was written: its digest differs");
    skip_rest();
    ended_ = true;
    if (take(2 * tar_block).find_first_not_of('\0') != std::string::npos)
        throw bad_archive("the archive goes on behind its end");
    char more = 0;
    if (from_.take(&more, 1) != 0) throw bad_archive("the archive goes on behind its end");
}

std::size_t archive_reader::content(char* into, std::size_t most)
{
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(most, left_));
    const auto length = from_.take(into, count);
    if (length < count) throw bad_archive("the archive ends in the middle: it was not copied whole");
    digest_.put({into, length});
    bytes_ += length;
    left_ -= length;
    return length;
}

std::string archive_reader::text(std::size_t most)
{
    if (left_ > most) throw bad_archive("the archive has a longer description than a backup has");
    std::string all(static_cast<std::size_t>(left_), '\0');
    content(all.data(), all.size());
    return all;
}

}  // namespace cmcp::backup
