#pragma once

#include <array>
#include <string_view>

namespace cmcp {

/// The types of REST's refusals: `error_type`, for programs.
struct refusal_type {
    std::string_view name;
    std::string_view status;  ///< as the documentation lists them
    std::string_view meaning;
};

inline constexpr std::array refusal_types{
    refusal_type{"InvalidArgument", "400", "an argument or parameter cannot be meant; the sentence names it"},
    refusal_type{"InvalidRequest", "400, 417, 505",
                 "the request is not HTTP as it is served here, or its body is not JSON"},
    refusal_type{"ToolFailed", "400", "the tool could not do it; the sentence says why"},
    refusal_type{"ImageNotAllowed", "400", "SANDBOX_IMAGES does not allow the image"},
    refusal_type{"ImageNotFound", "400", "there is no such image"},
    refusal_type{"ImageNotFetched", "503", "the image could not be fetched from its registry"},
    refusal_type{"QuotaExceeded", "400, 413, 507", "a limit of the caller is reached, or the disk is full"},
    refusal_type{"Unauthorized", "401", "the bearer token is missing or unknown"},
    refusal_type{"Forbidden", "403", "the Host or the Origin is not served, or code in a sandbox may not do it"},
    refusal_type{"NotFound", "404", "there is no such path, tool, sandbox, job or file"},
    refusal_type{"MethodNotAllowed", "405", "the path takes other methods, which Allow names"},
    refusal_type{"NotAcceptable", "406", "Accept names nothing that can be answered"},
    refusal_type{"TimedOut", "408", "the request took too long to arrive"},
    refusal_type{"NameTaken", "409", "another sandbox of the caller has this name"},
    refusal_type{"StateError", "409", "another call is needed first; the sentence names it"},
    refusal_type{"TooLarge", "413, 414, 431", "the body or the header is larger than the server takes"},
    refusal_type{"UnsupportedMediaType", "415", "the body's Content-Type or Content-Encoding is not taken"},
    refusal_type{"RangeNotSatisfiable", "416", "the range lies beyond the end of the file"},
    refusal_type{"SandboxError", "500", "the server's store or the sandbox does not work"},
    refusal_type{"ServerError", "500", "the server failed; its log says why"},
    refusal_type{"NotAvailable", "502, 503",
                 "something is not installed or configured on the server; the sentence says what"},
    refusal_type{"RateLimited", "429", "the caller's calls of this minute are used up; try again after Retry-After"},
    refusal_type{"Busy", "429, 503", "too much is under way; try again later"},
};
}  // namespace cmcp
