#include "objects/aws_signature.hpp"

#include "text/ascii.hpp"
#include "text/encodings.hpp"
#include "text/signature.hpp"
#include "text/time_text.hpp"

#include <algorithm>

// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
namespace cmcp {

namespace {

constexpr std::string_view algorithm = "AWS4-HMAC-SHA256";

// std::isalnum() would ask the locale.
bool is_unreserved(unsigned char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_' || c == '~';
}

bool stays_in_path(unsigned char c) { return is_unreserved(c) || c == '/'; }

// Without space around it, and with one blank for several.
std::string canonical_value(std::string_view value)
{
    std::string result(trimmed(value));
    const auto both_blank = [](char a, char b) { return a == ' ' && b == ' '; };
    result.erase(std::unique(result.begin(), result.end(), both_blank), result.end());
    return result;
}

name_values canonical_headers(const name_values& headers)
{
    name_values canonical;
    for (const auto& [name, value] : headers) canonical.emplace_back(lower_case(name), canonical_value(value));
    std::sort(canonical.begin(), canonical.end());
    return canonical;
}

std::string names_of(const name_values& headers)
{
    std::string names;
    for (const auto& [name, value] : headers) names += (names.empty() ? "" : ";") + name;
    return names;
}

std::string canonical_request(const aws_request& request, const name_values& headers)
{
    std::string text = request.method + "\n" + request.path + "\n" + aws_query(request.query) + "\n";
    for (const auto& [name, value] : headers) text += name + ":" + value + "\n";
    return text + "\n" + names_of(headers) + "\n" + request.payload_hash;
}

std::string signing_key(const std::string& secret, const std::string& day, const std::string& region)
{
    const auto of_day = keyed_digest("AWS4" + secret, day);
    const auto of_region = keyed_digest(of_day, region);
    const auto of_service = keyed_digest(of_region, "s3");
    return keyed_digest(of_service, "aws4_request");
}

}  // namespace

std::string aws_encoded(std::string_view text) { return percent_encoded(text, is_unreserved); }

std::string aws_encoded_path(std::string_view text) { return percent_encoded(text, stays_in_path); }

std::string aws_query(const name_values& query)
{
    name_values pairs;
    for (const auto& [name, value] : query) pairs.emplace_back(aws_encoded(name), aws_encoded(value));
    std::sort(pairs.begin(), pairs.end());
    std::string text;
    for (const auto& [name, value] : pairs) text += (text.empty() ? "" : "&") + name + "=" + value;
    return text;
}

name_values aws_signature(const aws_request& request, const aws_credentials& by, const std::string& region,
                          std::time_t when)
{
    const std::string time = utc_text(when, "%Y%m%dT%H%M%SZ"), day = time.substr(0, 8);
    name_values added{{"x-amz-date", time}, {"x-amz-content-sha256", request.payload_hash}};
    if (!by.session_token.empty()) added.emplace_back("x-amz-security-token", by.session_token);
    name_values headers = request.headers;
    headers.insert(headers.end(), added.begin(), added.end());
    headers = canonical_headers(headers);
    const std::string scope = day + "/" + region + "/s3/aws4_request";
    const std::string to_sign =
        std::string(algorithm) + "\n" + time + "\n" + scope + "\n" + sha256_hex(canonical_request(request, headers));
    const auto signature = hex_text(keyed_digest(signing_key(by.secret, day, region), to_sign));
    added.emplace_back("Authorization", std::string(algorithm) + " Credential=" + by.key_id + "/" + scope +
                                            ",SignedHeaders=" + names_of(headers) + ",Signature=" + signature);
    return added;
}

}  // namespace cmcp
