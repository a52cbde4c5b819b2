#include "backup/tar_format.hpp"

#include "backup/bad_archive.hpp"
#include "text/number.hpp"

#include <algorithm>
#include <cstdio>

namespace cmcp::backup {

namespace {

// Offsets and lengths of a header's fields (POSIX.1-2001, ustar).
struct field {
    std::size_t at;
    std::size_t length;
};
constexpr field name_field{0, 100}, mode_field{100, 8}, uid_field{108, 8}, gid_field{116, 8}, size_field{124, 12},
    time_field{136, 12}, sum_field{148, 8}, link_field{157, 100}, magic_field{257, 8}, major_field{329, 8},
    minor_field{337, 8};
constexpr std::size_t type_at = 156;
constexpr std::string_view magic("ustar\00000", 8);
constexpr std::string_view attribute_prefix = "SCHILY.xattr.";

constexpr std::uint64_t most_in(field where) { return (std::uint64_t{1} << (3 * (where.length - 1))) - 1; }

void put_text(std::string& block, field where, std::string_view text)
{
    block.replace(where.at, std::min(text.size(), where.length), text.substr(0, where.length));
}

void put_number(std::string& block, field where, std::uint64_t value)
{
    std::array<char, 24> digits{};
    std::snprintf(digits.data(), digits.size(), "%0*llo", static_cast<int>(where.length - 1),
                  static_cast<unsigned long long>(std::min(value, most_in(where))));
    put_text(block, where, {digits.data(), where.length - 1});
}

// The field itself counts as blanks.
std::uint64_t sum_of(std::string_view block)
{
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < tar_block; ++i)
        sum += i >= sum_field.at && i < sum_field.at + sum_field.length ? ' ' : static_cast<unsigned char>(block[i]);
    return sum;
}

std::string header_block(char type, std::string_view name, std::uint64_t stored)
{
    std::string block(tar_block, '\0');
    put_text(block, name_field, name);
    put_number(block, size_field, stored);
    put_text(block, magic_field, magic);
    block[type_at] = type;
    return block;
}

std::string finished(std::string block)
{
    std::array<char, 8> digits{};
    std::snprintf(digits.data(), digits.size(), "%06o", static_cast<unsigned>(sum_of(block)));
    put_text(block, sum_field, {digits.data(), 6});
    block[sum_field.at + 6] = '\0';
    block[sum_field.at + 7] = ' ';
    return block;
}

bool fits(std::string_view text, field where)
{
    return text.size() < where.length &&
           std::ranges::all_of(text, [](unsigned char c) { return c >= 0x20 && c < 0x7f; });
}

// "length key=value\n", where the length counts its own digits.
void add_record(std::string& to, std::string_view key, std::string_view value)
{
    const std::size_t rest = key.size() + value.size() + 3;
    std::size_t length = rest + std::to_string(rest).size();
    length = rest + std::to_string(length).size();
    to.append(std::to_string(length)).append(" ").append(key).append("=").append(value).append("\n");
}

std::string time_text(const timespec& time)
{
    std::array<char, 40> text{};
    std::snprintf(text.data(), text.size(), "%lld.%09ld", static_cast<long long>(time.tv_sec), time.tv_nsec);
    return text.data();
}

std::string records_of(const entry& of)
{
    std::string records;
    if (of.sparse) {
        add_record(records, "GNU.sparse.major", "1");
        add_record(records, "GNU.sparse.minor", "0");
        add_record(records, "GNU.sparse.name", of.path);
        add_record(records, "GNU.sparse.realsize", std::to_string(of.size));
    } else if (!fits(of.path, name_field)) {
        add_record(records, "path", of.path);
    }
    if (!fits(of.target, link_field)) add_record(records, "linkpath", of.target);
    if (of.modified.tv_nsec != 0 || of.modified.tv_sec < 0) add_record(records, "mtime", time_text(of.modified));
    if (of.uid > most_in(uid_field)) add_record(records, "uid", std::to_string(of.uid));
    if (of.gid > most_in(gid_field)) add_record(records, "gid", std::to_string(of.gid));
    const auto stored = of.stored() + sparse_map(of).size();
    if (stored > most_in(size_field)) add_record(records, "size", std::to_string(stored));
    for (const auto& [name, value] : of.attributes) add_record(records, std::string(attribute_prefix) + name, value);
    return records;
}

// ---------------------------------------------------------------- reading
[[noreturn]] void refuse(const std::string& reason) { throw bad_archive("the archive is damaged: " + reason); }

std::string_view text_in(std::string_view block, field where)
{
    const auto text = block.substr(where.at, where.length);
    return text.substr(0, text.find('\0'));
}

std::uint64_t number_in(std::string_view block, field where)
{
    std::uint64_t value = 0;
    const auto text = text_in(block, where);
    const auto digits = text.substr(0, text.find(' '));
    for (const char c : digits) {
        if (c < '0' || c > '7') refuse("a header has a number that is none");
        value = value * 8 + static_cast<std::uint64_t>(c - '0');
    }
    return value;
}

std::uint64_t decimal(std::string_view text)
{
    const auto value = read_number<std::uint64_t>(text);
    if (!value) refuse("a record has a number that is none");
    return *value;
}

timespec time_in(std::string_view text)
{
    const auto point = text.find('.');
    const auto seconds = read_number<std::int64_t>(text.substr(0, point));
    std::string fraction(point == std::string_view::npos ? "" : text.substr(point + 1, 9));
    fraction.resize(9, '0');
    const auto nanoseconds = read_number<std::int64_t>(fraction);
    if (!seconds || !nanoseconds || *nanoseconds < 0) refuse("a record has a time that is none");
    return {static_cast<time_t>(*seconds), static_cast<long>(*nanoseconds)};
}

constexpr std::string_view known_types = "01235x";

bool is_real_device(std::string_view block)
{
    return std::ranges::any_of(std::array{major_field, minor_field}, [&](field number) {
        return text_in(block, number).empty() || number_in(block, number) != 0;
    });
}

}  // namespace

std::string sparse_map(const entry& of)
{
    if (!of.sparse) return {};
    std::string map = std::to_string(of.data.size()) + "\n";
    for (const auto& [offset, length] : of.data) map += std::to_string(offset) + "\n" + std::to_string(length) + "\n";
    map.append(padding_of(map.size()), '\0');
    return map;
}

std::string tar_header(const entry& of)
{
    std::string whole;
    if (const auto records = records_of(of); !records.empty()) {
        auto extended = header_block('x', "records", records.size());
        put_number(extended, mode_field, 0600);
        whole = finished(std::move(extended)) + records + std::string(padding_of(records.size()), '\0');
    }
    const auto map = sparse_map(of);
    auto block = header_block(static_cast<char>(of.is), of.sparse ? "sparse" : of.path, of.stored() + map.size());
    put_number(block, mode_field, of.mode & 07777);
    put_number(block, uid_field, of.uid);
    put_number(block, gid_field, of.gid);
    put_number(block, time_field, static_cast<std::uint64_t>(std::max<std::int64_t>(0, of.modified.tv_sec)));
    put_text(block, link_field, of.target);
    if (of.is == entry::kind::whiteout)
        for (const field number : {major_field, minor_field}) put_number(block, number, 0);
    return whole + finished(std::move(block)) + map;
}

std::optional<raw_header> read_tar_header(std::string_view block)
{
    if (block.find_first_not_of('\0') == std::string_view::npos) return std::nullopt;
    if (text_in(block, sum_field).empty() || number_in(block, sum_field) != sum_of(block))
        refuse("a header's checksum is wrong");
    if (block.substr(magic_field.at, magic_field.length) != magic) refuse("a header is of another format");
    raw_header header{.type = block[type_at]};
    if (known_types.find(header.type) == std::string_view::npos ||
        (header.type == static_cast<char>(entry::kind::whiteout) && is_real_device(block)))
        throw bad_archive("the archive has an entry of a kind that no backup has (device, FIFO or the like)");
    header.stored = number_in(block, size_field);
    entry& of = header.of;
    if (header.type != 'x') of.is = static_cast<entry::kind>(header.type);
    of.path = text_in(block, name_field);
    of.target = text_in(block, link_field);
    of.mode = static_cast<mode_t>(number_in(block, mode_field) & 07777);
    of.uid = static_cast<uid_t>(number_in(block, uid_field));
    of.gid = static_cast<gid_t>(number_in(block, gid_field));
    of.modified.tv_sec = static_cast<time_t>(number_in(block, time_field));
    of.size = header.stored;
    return header;
}

pax_records read_pax_records(std::string_view text)
{
    pax_records records;
    while (!text.empty()) {
        const auto blank = text.find(' ');
        const auto length =
            blank == std::string_view::npos ? std::nullopt : read_number<std::size_t>(text.substr(0, blank));
        if (!length || *length <= blank + 2 || *length > text.size() || text[*length - 1] != '\n')
            refuse("a record has a wrong length");
        const auto record = text.substr(blank + 1, *length - blank - 2);
        const auto equals = record.find('=');
        if (equals == 0 || equals == std::string_view::npos) refuse("a record has no name");
        const bool fresh = records.emplace(record.substr(0, equals), record.substr(equals + 1)).second;
        if (!fresh) refuse("a record stands twice");
        text.remove_prefix(*length);
    }
    return records;
}

void apply_records(const pax_records& records, raw_header& to)
{
    entry& of = to.of;
    for (const auto& [key, value] : records) {
        if (key == "path" || key == "GNU.sparse.name")
            of.path = value;
        else if (key == "linkpath")
            of.target = value;
        else if (key == "mtime")
            of.modified = time_in(value);
        else if (key == "uid")
            of.uid = static_cast<uid_t>(decimal(value));
        else if (key == "gid")
            of.gid = static_cast<gid_t>(decimal(value));
        else if (key == "size")
            to.stored = of.size = decimal(value);
        else if (key == "GNU.sparse.realsize")
            of.sparse = true;
        else if (key == "GNU.sparse.major" || key == "GNU.sparse.minor") {
            if (value != (key.ends_with("major") ? "1" : "0")) refuse("a sparse file is of another format");
        } else if (key.starts_with(attribute_prefix))
            of.attributes[key.substr(attribute_prefix.size())] = value;
        else
            refuse("there is a record of another format");
    }
    if (!of.sparse) return;
    const auto size = records.find("GNU.sparse.realsize");
    if (of.is != entry::kind::file || !records.contains("GNU.sparse.name"))
        refuse("a sparse file is of another format");
    of.size = decimal(size->second);
}

}  // namespace cmcp::backup
