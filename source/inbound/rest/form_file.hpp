#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

/// Reads a multipart/form-data body (RFC 7578) piece by piece: small fields into memory, the one file handed on as its
/// bytes come. Pure.
class form_file {
public:
    /// The boundary of a Content-Type header; nothing for another type.
    static std::optional<std::string> boundary_of(std::string_view content_type);

    explicit form_file(const std::string& boundary) : delimiter_("\r\n--" + boundary), held_("\r\n") {}

    enum class state { fields, file, after, bad };

    /// Takes more of the body. Returns bytes of the file. Before `file` is reached, all fields that stand in front of
    /// it are known; a second file makes the form bad.
    std::string put(std::string_view bytes);

    state at() const { return state_; }
    bool complete() const { return ended_ && state_ == state::after; }
    const std::string& file_name() const { return file_name_; }
    const std::map<std::string, std::string>& fields() const { return fields_; }

private:
    bool begin_part();
    void read_part_header(std::string_view header);
    bool end_part(std::string& file_bytes);

    std::string delimiter_;
    std::string held_;  // bytes that are not judged yet
    state state_ = state::fields;
    bool in_part_ = false;
    bool in_file_ = false;
    bool ended_ = false;
    std::string field_;
    std::string file_name_;
    std::map<std::string, std::string> fields_;
};

}  // namespace cmcp
