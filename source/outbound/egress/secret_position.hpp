#pragma once

#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>

#include <string>
#include <string_view>

namespace cmcp {

/// The one position of a request in which a secret stands: a header ("Authorization: Bearer {}"), a key of the query
/// ("key={}"), or the password of HTTP's basic login, whose user is named.
struct secret_position {
    enum class kind { header, query, basic };

    kind is = kind::header;
    std::string name;    ///< of the header or the key, or the user
    std::string before;  ///< header: the text in front of the value
    std::string after;   ///< header: the text behind it

    /// `text` as on the command line. Throws std::invalid_argument with a sentence.
    static secret_position parse(kind is, std::string_view text);

    /// The inverse of text(). Throws std::invalid_argument.
    static secret_position read(std::string_view text);
    std::string text() const;  ///< "header Authorization: Bearer {}", "query key={}", "basic USER"

    using request_header = boost::beast::http::request_header<>;

    /// Puts `value` where `placeholder` stands at this position and fills it. False: it does not stand there.
    bool put(request_header& request, const std::string& placeholder, const std::string& value) const;
};

}  // namespace cmcp
