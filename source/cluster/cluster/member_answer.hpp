#pragma once

#include "http/http_request.hpp"
#include "http/relayed_fields.hpp"

#include <string>

namespace cmcp {

/// Status line and fields of the answer of another member to a client's request, as the client gets them, without
/// framing and the empty line. A page of the member's own would have the origin of this server, so only fields that
/// concern the answer pass, and no page runs anything; previews have the rules of previews.
std::string head_of_member_answer(const relayed_answer_head& from, const http_request& request);

}  // namespace cmcp
