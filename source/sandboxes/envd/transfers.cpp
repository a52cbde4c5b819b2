#include "envd/transfers.hpp"

#include "envd/filesystem.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace cmcp::envd {

namespace {

constexpr std::size_t piece = 64 * 1024;
constexpr std::size_t longest_head = 16 * 1024;  // of a part of a form
constexpr std::size_t longest_key = 246, most_metadata = 4096;

using attributes = std::map<std::string, std::string>;

class file {
public:
    file(const std::string& path, int flags) : path_(path), fd_(::open(path.c_str(), flags | O_CLOEXEC, 0666))
    {
        if (fd_ < 0) throw refusal_of(errno, path);
    }
    file(const file&) = delete;
    file& operator=(const file&) = delete;
    ~file() { ::close(fd_); }

    void write(std::string_view bytes)
    {
        while (!bytes.empty()) {
            const auto written = ::write(fd_, bytes.data(), bytes.size());
            if (written < 0) throw refusal_of(errno, path_);
            bytes.remove_prefix(static_cast<std::size_t>(written));
        }
    }
    std::string read()
    {
        std::string bytes(piece, '\0');
        const auto size = ::read(fd_, bytes.data(), bytes.size());
        if (size < 0) throw refusal_of(errno, path_);
        bytes.resize(static_cast<std::size_t>(size));
        return bytes;
    }
    struct ::stat about() const
    {
        struct ::stat status;
        if (::fstat(fd_, &status) != 0) throw refusal_of(errno, path_);
        return status;
    }
    int get() const { return fd_; }

private:
    std::string path_;
    int fd_;
};

/// Both directions of gzip.
class gzip {
public:
    static constexpr int window = 15 + 16;
    explicit gzip(bool packs) : packs_(packs)
    {
        if ((packs ? deflateInit2(&state_, 1, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY)
                   : inflateInit2(&state_, window)) != Z_OK)
            throw refusal("internal", "zlib does not start");
    }
    gzip(const gzip&) = delete;
    gzip& operator=(const gzip&) = delete;
    ~gzip() { packs_ ? deflateEnd(&state_) : inflateEnd(&state_); }

    void put(std::string_view bytes, bool last, const std::function<void(std::string_view)>& to)
    {
        std::array<char, piece> output{};
        state_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
        state_.avail_in = static_cast<uInt>(bytes.size());
        do {
            state_.next_out = reinterpret_cast<Bytef*>(output.data());
            state_.avail_out = output.size();
            const int result = packs_ ? deflate(&state_, last ? Z_FINISH : Z_NO_FLUSH) : inflate(&state_, Z_NO_FLUSH);
            if (result < 0 && result != Z_BUF_ERROR) throw refusal("invalid_argument", "the body is not valid gzip");
            to({output.data(), output.size() - state_.avail_out});
            ended_ = result == Z_STREAM_END;
        } while (!ended_ && (state_.avail_in > 0 || state_.avail_out == 0));
        if (last && !ended_) throw refusal("invalid_argument", "the body ends within its gzip stream");
    }

private:
    z_stream state_{};
    bool packs_;
    bool ended_ = false;
};

bool takes_gzip(std::string list)
{
    std::ranges::transform(list, list.begin(), [](unsigned char c) { return std::tolower(c); });
    const auto at = list.find("gzip");
    if (at == std::string::npos) return false;
    const auto own = list.substr(at, list.find(',', at) - at);
    return own.find("q=0") == std::string::npos || own.find("q=0.") != std::string::npos;
}

bool printable(std::string_view text)
{
    return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

attributes attributes_of(const connection& from)
{
    constexpr std::string_view prefix = "x-metadata-";
    attributes all;
    std::size_t size = 0;
    for (const auto& field : from.headers()) {
        std::string name(field.name_string());
        std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
        if (!name.starts_with(prefix)) continue;
        const std::string key = name.substr(prefix.size()), value(field.value());
        if (key.empty() || key.size() > longest_key || !printable(key) || !printable(value))
            throw refusal("invalid_argument", "metadata has printable ASCII characters, and keys of 1 to 246");
        if (all.emplace(key, value).second) size += metadata_prefix.size() + key.size() + value.size();
    }
    if (size > most_metadata) throw refusal("invalid_argument", "the metadata of a file has at most 4096 bytes");
    return all;
}

/// A file that is being received.
class arrival {
public:
    arrival(std::string path, const account& by, const attributes& marks) : path_(std::move(path)), marks_(marks)
    {
        struct ::stat about;
        if (::stat(path_.c_str(), &about) == 0 && S_ISDIR(about.st_mode))
            throw refusal("invalid_argument", "path '" + path_ + "' is a directory");
        make_parents(path_, by);
        into_.emplace(path_, O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY);
        if (by.changes && ::fchown(into_->get(), by.uid, by.gid) != 0) throw refusal_of(errno, path_);
    }
    void put(std::string_view bytes) { into_->write(bytes); }
    json::object finish()
    {
        for (const auto& [name, value] : metadata_of(path_))
            ::fremovexattr(into_->get(), (std::string(metadata_prefix) + std::string(name)).c_str());
        for (const auto& [name, value] : marks_)
            if (::fsetxattr(into_->get(), (std::string(metadata_prefix) + name).c_str(), value.data(), value.size(),
                            0) != 0)
                throw refusal_of(errno, path_);
        into_.reset();
        json::object row{{"name", path_.substr(path_.rfind('/') + 1)}, {"path", path_}, {"type", "file"}};
        if (auto metadata = metadata_of(path_); !metadata.empty()) row["metadata"] = std::move(metadata);
        return row;
    }

private:
    std::string path_;
    const attributes& marks_;
    std::optional<file> into_;
};

std::string quoted_value(std::string_view line, std::string_view name)
{
    const auto mark = std::string(name) + "=\"";
    for (auto at = line.find(mark); at != std::string_view::npos; at = line.find(mark, at + 1)) {
        if (at > 0 && line[at - 1] != ' ' && line[at - 1] != ';') continue;
        const auto from = at + mark.size();
        return std::string(line.substr(from, line.find('"', from) - from));
    }
    return {};
}

// Three characters are written otherwise in a form's names (HTML, multipart/form-data encoding).
std::string name_in_form(std::string name)
{
    for (const auto& [coded, plain] : {std::pair{"%22", "\""}, {"%0A", "\n"}, {"%0D", "\r"}})
        for (auto at = name.find(coded); at != std::string::npos; at = name.find(coded, at + 1))
            name.replace(at, 3, plain);
    return name;
}

/// The parts of multipart/form-data (RFC 7578), as their bytes come.
class form {
public:
    form(std::string boundary, std::function<std::unique_ptr<arrival>(std::string_view head)> open)
        : mark_("\r\n--" + boundary), open_(std::move(open)), held_("\r\n")
    {
    }

    void put(std::string_view bytes)
    {
        held_.append(bytes);
        while (step()) {
        }
    }
    json::array finish()
    {
        if (!ended_) throw refusal("invalid_argument", "the form ends before its last boundary");
        return std::move(done_);
    }

private:
    // Gives what cannot be a boundary any more to the part; true: there is more to find.
    bool step()
    {
        if (ended_) return held_.clear(), false;
        if (in_head_) return read_head();
        const auto at = held_.find(mark_);
        if (at == std::string::npos) {
            const auto safe = held_.size() - std::min(held_.size(), mark_.size());
            if (part_) part_->put(std::string_view(held_).substr(0, safe));
            held_.erase(0, safe);
            return false;
        }
        if (held_.size() < at + mark_.size() + 2) return false;
        if (part_) {
            part_->put(std::string_view(held_).substr(0, at));
            done_.push_back(part_->finish());
            part_.reset();
        }
        ended_ = held_.compare(at + mark_.size(), 2, "--") == 0;
        held_.erase(0, at + mark_.size());
        in_head_ = !ended_;
        return true;
    }
    bool read_head()
    {
        const auto end = held_.find("\r\n\r\n");
        if (end == std::string::npos) {
            if (held_.size() > longest_head)
                throw refusal("invalid_argument", "a part of the form has too long a head");
            return false;
        }
        part_ = open_(std::string_view(held_).substr(0, end));
        held_.erase(0, end + 4);
        // The boundary begins with the line break that may stand right here, where a part is empty.
        in_head_ = false;
        return true;
    }

    std::string mark_;
    std::function<std::unique_ptr<arrival>(std::string_view)> open_;
    std::string held_;
    std::unique_ptr<arrival> part_;
    json::array done_;
    bool in_head_ = false;
    bool ended_ = false;
};

std::string boundary_of(const std::string& type)
{
    const auto at = type.find("boundary=");
    if (at == std::string::npos) throw refusal("invalid_argument", "the form names no boundary");
    auto boundary = type.substr(at + 9, type.find(';', at) - at - 9);
    std::erase(boundary, '"');
    return boundary;
}

}  // namespace

awaitable<> send_file(connection& to)
{
    const auto path = resolved(to.parameter("path"), to.user());
    struct ::stat about;
    if (::stat(path.c_str(), &about) != 0) throw refusal_of(errno, path);
    if (S_ISDIR(about.st_mode)) throw refusal("invalid_argument", "path '" + path + "' is a directory");
    if (!S_ISREG(about.st_mode)) throw refusal("invalid_argument", "path '" + path + "' is not a regular file");
    file from(path, O_RDONLY | O_NOCTTY);
    connection::fields fields{{"Content-Type", "application/octet-stream"}, {"Vary", "Accept-Encoding"}};
    std::optional<gzip> packed;
    if (takes_gzip(to.header("Accept-Encoding"))) {
        packed.emplace(true);
        fields.emplace_back("Content-Encoding", "gzip");
    }
    co_await to.begin(200, std::move(fields));
    for (bool last = false; !last;) {
        auto bytes = from.read();
        last = bytes.empty();
        std::string chunk;
        if (packed) packed->put(bytes, last, [&chunk](std::string_view packed_bytes) { chunk.append(packed_bytes); });
        if (!packed) chunk = std::move(bytes);
        co_await to.write(std::move(chunk));
    }
    co_await to.end();
}

awaitable<> receive_files(connection& from)
{
    const auto user = from.user();
    const auto marks = attributes_of(from);
    const auto type = from.header("Content-Type");
    const auto path = from.parameter("path");
    std::function<void(std::string_view)> put;
    std::optional<form> parts;
    std::optional<arrival> whole;
    if (type.starts_with("multipart/form-data")) {
        parts.emplace(boundary_of(type), [&](std::string_view head) -> std::unique_ptr<arrival> {
            if (quoted_value(head, "name") != "file") return nullptr;
            const auto name = path.empty() ? name_in_form(quoted_value(head, "filename")) : path;
            if (name.empty()) throw refusal("invalid_argument", "name the file, by path or by the form");
            return std::make_unique<arrival>(resolved(name, user), user, marks);
        });
        put = [&parts](std::string_view bytes) { parts->put(bytes); };
    } else {
        if (path.empty()) throw refusal("invalid_argument", "path is required");
        whole.emplace(resolved(path, user), user, marks);
        put = [&whole](std::string_view bytes) { whole->put(bytes); };
    }
    std::optional<gzip> packed;
    if (from.header("Content-Encoding") == "gzip") packed.emplace(false);
    for (bool last = false; !last;) {
        const auto bytes = co_await from.read_some();
        last = bytes.empty();
        if (packed) packed->put(bytes, last, put);
        if (!packed) put(bytes);
    }
    json::array done;
    if (parts) done = parts->finish();
    if (whole) done.push_back(whole->finish());
    co_await from.reply(200, json::serialize(done));
}

}  // namespace cmcp::envd
