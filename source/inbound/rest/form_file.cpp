#include "rest/form_file.hpp"

#include "http/http_request.hpp"
#include "text/ascii.hpp"
#include "text/header_parameter.hpp"

#include <utility>

namespace cmcp {

namespace {

constexpr std::size_t longest_field = 64 * 1024;
constexpr std::size_t longest_header = 8 * 1024;
constexpr std::size_t most_fields = 32;

}  // namespace

std::optional<std::string> form_file::boundary_of(std::string_view content_type)
{
    if (!equal_ignoring_case(content_type.substr(0, 19), "multipart/form-data")) return std::nullopt;
    auto boundary = header_parameter(content_type, "boundary");
    if (!boundary || boundary->empty() || boundary->size() > 70) return std::nullopt;
    return boundary;
}

std::string form_file::put(std::string_view bytes)
{
    held_.append(bytes);
    std::string file_bytes;
    while (state_ != state::bad && !ended_)
        if (!(in_part_ ? end_part(file_bytes) : begin_part())) break;
    return file_bytes;
}

// From a delimiter to the end of the part's header.
bool form_file::begin_part()
{
    const auto at = held_.find(delimiter_);
    if (at == std::string::npos) {
        if (held_.size() > longest_header) state_ = state::bad;
        return false;
    }
    const auto after = at + delimiter_.size();
    if (held_.size() < after + 2) return false;
    if (held_.compare(after, 2, "--") == 0) {
        ended_ = true;
        return false;
    }
    const auto end = held_.find("\r\n\r\n", after);
    if (end == std::string::npos) {
        if (held_.size() - after > longest_header) state_ = state::bad;
        return false;
    }
    read_part_header(std::string_view(held_).substr(after, end - after));
    held_.erase(0, end + 2);  // the CRLF stays: an empty part ends with the same one
    held_.erase(0, 2);
    in_part_ = true;
    return state_ != state::bad;
}

void form_file::read_part_header(std::string_view header)
{
    field_.clear();
    in_file_ = false;
    while (!header.empty()) {
        const auto line = header.substr(0, header.find("\r\n"));
        header.remove_prefix(std::min(header.size(), line.size() + 2));
        if (!equal_ignoring_case(line.substr(0, 20), "content-disposition:")) continue;
        field_ = header_parameter(line, "name").value_or("");
        if (auto name = header_parameter(line, "filename")) {
            in_file_ = true;
            file_name_ = std::move(*name);
        }
    }
    const bool second_file = in_file_ && state_ != state::fields;
    if (second_file || (!in_file_ && fields_.size() >= most_fields))
        state_ = state::bad;
    else if (in_file_)
        state_ = state::file;
}

bool form_file::end_part(std::string& file_bytes)
{
    const auto at = held_.find(delimiter_);
    const bool whole = at != std::string::npos;
    // The possible beginning of a delimiter is kept until more bytes have come.
    const std::size_t sure = whole ? at : held_.size() - std::min(held_.size(), delimiter_.size());
    if (in_file_)
        file_bytes.append(held_, 0, sure);
    else if (field_.empty() || fields_[field_].size() + sure <= longest_field)
        fields_[field_].append(held_, 0, sure);
    else
        state_ = state::bad;
    held_.erase(0, sure);
    if (!whole) return false;
    in_part_ = false;
    if (in_file_) state_ = state::after;
    return state_ != state::bad;
}

}  // namespace cmcp
