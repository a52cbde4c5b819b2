#include "envd/envd.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <vector>

namespace cmcp::envd {

namespace {

// The C library's own look-up loads modules, which a static program has not.
std::vector<std::vector<std::string>> rows_of(const char* file)
{
    std::vector<std::vector<std::string>> rows;
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
        std::vector<std::string> row(1);
        for (const char c : line) {
            if (c == ':')
                row.emplace_back();
            else
                row.back() += c;
        }
        if (row.size() >= 3) rows.push_back(std::move(row));
    }
    return rows;
}

unsigned id_of(const std::string& digits)
{
    unsigned id = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), id);
    return id;
}

std::string name_in(const char* file, unsigned id)
{
    for (const auto& row : rows_of(file))
        if (id_of(row[2]) == id) return row[0];
    return std::to_string(id);
}

// Elsewhere root is the only account of a machine.
bool is_mapped(unsigned id)
{
    std::ifstream in("/proc/self/uid_map");
    for (std::uint64_t first = 0, outside = 0, count = 0; in >> first >> outside >> count;)
        if (id >= first && id - first < count) return true;
    return false;
}

std::string own_home()
{
    const char* home = std::getenv("HOME");
    return home != nullptr && *home == '/' ? home : "/";
}

}  // namespace

unsigned refusal::status() const
{
    static const std::map<std::string_view, unsigned> statuses{
        {"invalid_argument", 400},   {"failed_precondition", 400}, {"unauthenticated", 401},
        {"permission_denied", 403},  {"not_found", 404},           {"already_exists", 409},
        {"resource_exhausted", 429}, {"unimplemented", 501}};
    const auto known = statuses.find(code);
    return known == statuses.end() ? 500 : known->second;
}

std::uint64_t number_in(std::string_view text, std::uint64_t most)
{
    std::uint64_t number = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failure == std::errc::result_out_of_range) return most;
    return failure == std::errc() && end == text.data() + text.size() ? std::min(number, most) : 0;
}

refusal refusal_of(int error, const std::string& path)
{
    const std::string why = std::strerror(error);
    if (error == ENOENT || error == ENOTDIR) return {"not_found", "path '" + path + "' does not exist"};
    if (error == EACCES || error == EPERM || error == EROFS) return {"permission_denied", path + ": " + why};
    if (error == ENOSPC || error == EDQUOT || error == EFBIG)
        return {"resource_exhausted", "not enough disk space available: " + path + ": " + why};
    return {"internal", path + ": " + why};
}

void signal::raise()
{
    for (auto& each : waiting_) each.cancel();
}

awaitable<bool> signal::wait(asio::steady_timer::duration limit)
{
    const auto own = waiting_.emplace(waiting_.end(), executor_, limit);
    auto [raised] = co_await own->async_wait(asio::as_tuple(asio::use_awaitable));
    waiting_.erase(own);
    co_return static_cast<bool>(raised);
}

account find_account(std::string_view name)
{
    const unsigned own = ::geteuid();
    account self{name_of_user(own), own == 0 ? "/root" : own_home(), own, ::getegid(), false};
    const char* wanted = std::getenv(variable_of_user);
    if (name.empty() && wanted != nullptr) name = wanted;
    const bool is_usual = name.empty() || name == usual_user;
    for (const auto& row : rows_of("/etc/passwd")) {
        if (row[0] != (is_usual ? usual_user : name) || row.size() < 6) continue;
        const auto id = id_of(row[2]);
        if (id == own) return {row[0], row[5], id, id_of(row[3]), false};
        if (own == 0 && is_mapped(id)) return {row[0], row[5], id, id_of(row[3]), true};
    }
    if (is_usual) return {self.name, own_home(), self.uid, self.gid, false};
    // A sandbox of class strict has one account, and takes it for root, too.
    if (name == self.name || name == "root") return self;
    throw refusal("unauthenticated", "invalid username: '" + std::string(name) + "'");
}

std::string name_of_user(unsigned uid) { return name_in("/etc/passwd", uid); }
std::string name_of_group(unsigned gid) { return name_in("/etc/group", gid); }

std::string resolved(std::string_view path, const account& by)
{
    if (path.find('\0') != std::string_view::npos) throw refusal("invalid_argument", "a path has no zero bytes");
    std::filesystem::path whole(by.home);
    if (path == "~" || path.starts_with("~/"))
        whole /= path.size() > 2 ? path.substr(2) : std::string_view();
    else
        whole /= path;
    auto plain = whole.lexically_normal().string();
    while (plain.size() > 1 && plain.back() == '/') plain.pop_back();
    return plain;
}

std::string text(const json::object& from, std::string_view name)
{
    const auto* value = from.if_contains(name);
    return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

bool flag(const json::object& from, std::string_view name, bool otherwise)
{
    const auto* value = from.if_contains(name);
    return value != nullptr && value->is_bool() ? value->get_bool() : otherwise;
}

std::int64_t number(const json::object& from, std::string_view name, std::int64_t otherwise)
{
    const auto* value = from.if_contains(name);
    boost::system::error_code failed;
    const auto read = value == nullptr ? otherwise : value->to_number<std::int64_t>(failed);
    return failed ? otherwise : read;
}

const json::object& object(const json::object& from, std::string_view name)
{
    static const json::object none;
    const auto* value = from.if_contains(name);
    return value != nullptr && value->is_object() ? value->get_object() : none;
}

}  // namespace cmcp::envd
