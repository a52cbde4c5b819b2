#pragma once

#include "http/http_request.hpp"
#include "http/relayed_fields.hpp"

#include <cstdint>
#include <string>
#include <string_view>

/// The headers of requests to shown ports and of their answers. A page of a sandbox is a stranger to the server:
/// nothing that opens the server's own origin or tells its secrets passes. Pure.
namespace cmcp {

/// How a client reaches a shown port.
struct preview_view {
    std::uint16_t port = 0;
    bool own_origin = false;   ///< else a path of the server's own origin
    std::string prefix;        ///< of that path, without a slash at its end
    std::string host;          ///< as the client names it
    std::string scheme;        ///< http or https
    bool knows_token = false;  ///< the request's Authorization is the server's own business
};

using port_request = relayed_request_head;
using port_answer = relayed_answer_head;

/// The request as the program in the sandbox gets it, but for its body. `target`: path and query there. The program
/// believes that it is called at localhost.
port_request request_to_port(const http_request& from, const std::string& target, const preview_view& view);

/// Status line and fields of the answer as the client gets it, without framing and the empty line. `target` is that of
/// the request.
std::string head_of_answer(const port_answer& from, std::string_view target, const preview_view& view);

/// The same of an answer of a preview at another server of the cluster, which should have done so, and whose page is a
/// stranger here as well.
std::string head_of_passed_answer(const port_answer& from, bool own_origin);

/// A redirect's address: one of the program's own stays below the prefix.
std::string location_for_client(std::string_view location, std::string_view target, const preview_view& view);

}  // namespace cmcp
