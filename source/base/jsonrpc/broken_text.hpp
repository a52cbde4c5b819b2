#pragma once

#include "jsonrpc/json.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmcp::jsonrpc {

/// The members that say what a message is, as far as they are found without reading the rest. Linear.
struct message_outline {
    json::value id;        ///< null: none, or none that can be read
    std::string method;    ///< as written, without quotation marks
    bool asks = false;     ///< there is a method
    bool answers = false;  ///< there is a result or an error
};
message_outline outline_of(std::string_view text);

/// The id of a request whose text is no valid JSON, so that whoever waits for the answer gets one. Null where no
/// `method` and `id` could be found: an error under the id of a response would end another request. Linear.
json::value id_in_broken(std::string_view text);

/// The members of an array as far as brackets, braces and quotation marks tell them apart; nothing where they do not
/// match, or there are more than `most`. Linear.
std::optional<std::vector<std::string_view>> members_in_broken(std::string_view text, std::size_t most);

/// The members of an object as they are written, with the quotation marks of their names, as far as they are found.
/// Nothing is read, so that it is quick for a long text. Linear.
std::vector<std::pair<std::string_view, std::string_view>> raw_members(std::string_view object);

}  // namespace cmcp::jsonrpc
