#pragma once

#include <cstddef>
#include <string_view>

namespace cmcp {

/// Looks at the bytes of a request's header as they arrive. Refuses forms about which parsers disagree, because
/// requests are smuggled by them (RFC 9112 sections 2.2, 5.1, 5.2): bare CR or LF, control characters, a blank before
/// the colon, folded lines, empty names; and a header that is too long. Pure: no input or output.
class raw_header {
public:
    explicit raw_header(std::size_t max_bytes, std::size_t max_fields = 100)
        : max_bytes_(max_bytes), max_fields_(max_fields)
    {
    }

    enum class verdict { incomplete, complete, refused };

    /// `bytes` is the whole of this request so far; the text only grows between calls.
    verdict look(std::string_view bytes);

    std::size_t begin() const { return begin_; }  ///< after the empty lines that may precede a request
    std::size_t size() const { return size_; }    ///< up to and with the empty line, once complete; counted from 0
    int status() const { return status_; }        ///< 400, 414, 431 or 505, once refused
    std::string_view sentence() const { return sentence_; }

private:
    verdict piece(std::string_view text, bool line_ends);
    verdict end_of_line(std::string_view bytes, std::size_t end);
    verdict line(std::string_view text);
    verdict request_line(std::string_view text);
    verdict field_line(std::string_view text);
    verdict refuse(int status, std::string_view sentence);

    std::size_t max_bytes_;
    std::size_t max_fields_;
    std::size_t begin_ = 0;
    std::size_t line_start_ = 0;
    std::size_t looked_ = 0;
    std::size_t lines_ = 0;
    std::size_t size_ = 0;
    bool after_cr_ = false;
    int status_ = 400;
    std::string_view sentence_;
};

}  // namespace cmcp
