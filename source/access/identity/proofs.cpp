#include "identity/proofs.hpp"

#include "identity/jose.hpp"
#include "jsonrpc/read_object.hpp"
#include "text/ascii.hpp"
#include "text/encodings.hpp"

#include <algorithm>
#include <optional>

namespace cmcp {

namespace {

using time_point = login::clock::time_point;

constexpr std::size_t most_seen = 200'000;
constexpr std::size_t longest_id = 512;
constexpr std::chrono::seconds longest_age(300);

// Query and fragment do not count (section 4.3, step 9).
std::string_view without_query(std::string_view url) { return url.substr(0, url.find_first_of("?#")); }

bool is_time_near(const json::object& claims, std::chrono::seconds skew, time_point now)
{
    const auto* member = claims.if_contains("iat");
    if (member == nullptr || !member->is_int64()) return false;
    const auto distance =
        std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count() - member->get_int64();
    return distance <= std::min(longest_age, 2 * skew + std::chrono::seconds(60)).count() && distance >= -skew.count();
}

bool is_same_address(std::string_view named, const std::vector<std::string>& addresses)
{
    const auto same = [named](const std::string& each) {
        const auto host = std::min(each.find('/', each.find("://") + 3), each.size());
        return equal_ignoring_case(named.substr(0, host), std::string_view(each).substr(0, host)) &&
               named.substr(std::min(host, named.size())) == std::string_view(each).substr(host);
    };
    return std::any_of(addresses.begin(), addresses.end(), same);
}

std::string problem_of_claims(const json::object& claims, const proven_request& of)
{
    if (view_of(claims, "htm") != of.method) return "The DPoP proof is for another method (htm).";
    if (!is_same_address(without_query(view_of(claims, "htu")), of.addresses))
        return "The DPoP proof is for another address (htu).";
    if (view_of(claims, "ath") != base64url_encode(sha256(of.token)))
        return "The DPoP proof is for another token (ath).";
    const auto id = view_of(claims, "jti");
    return id.empty() || id.size() > longest_id ? "The DPoP proof has no jti." : "";
}

}  // namespace

proof_decision proofs::judge(const proven_request& of, std::string_view thumbprint, time_point now)
{
    const auto proof = jose::read_jwt(of.proof);
    if (!proof || lower_case(view_of(proof->header, "typ")) != "dpop+jwt")
        return {"The field DPoP holds no DPoP proof."};
    const auto key = jose::public_key::read(object_of(proof->header, "jwk"));
    if (!key || key->thumbprint() != thumbprint)
        return {"The DPoP proof is signed with another key than the token names."};
    if (!key->verifies(*proof)) return {"The signature of the DPoP proof is wrong."};
    auto wrong = problem_of_claims(proof->claims, of);
    if (!wrong.empty()) return {std::move(wrong)};
    if (!is_time_near(proof->claims, skew_, now)) return {"The DPoP proof is too old, or of the future (iat)."};
    auto digest = sha256_hex(std::string(thumbprint) + "." + text_of(proof->claims, "jti"));
    if (is_shared_ && unanswered_.erase(digest) != 0)
        return {"The servers of the cluster cannot be asked whether the DPoP proof was used before; try again later.",
                true};
    if (is_shared_ && claimed_.erase(digest) == 0 && !seen_.contains(digest)) return {{}, false, std::move(digest)};
    return {is_new(std::move(digest), now) ? "" : "The DPoP proof was used before, or there are too many."};
}

// A proof that came twice at once is good for whoever is judged first.
void proofs::claimed(std::string digest, std::optional<bool> first)
{
    if (unanswered_.size() >= most_seen) unanswered_.clear();
    if (!first) {
        unanswered_.insert(std::move(digest));
        return;
    }
    if (claimed_.size() >= most_seen) claimed_.clear();
    if (*first)
        claimed_.insert(std::move(digest));
    else if (!claimed_.contains(digest))
        is_new(std::move(digest), login::clock::now());
}

// A proof is remembered longer than it is good. Where too many are remembered none is accepted, so that none is good
// twice.
bool proofs::is_new(std::string digest, time_point now)
{
    while (!ages_.empty() && ages_.front().first + remembered_for < now) {
        seen_.erase(ages_.front().second);
        ages_.pop_front();
    }
    if (seen_.size() >= most_seen || !seen_.insert(digest).second) return false;
    ages_.emplace_back(now, std::move(digest));
    return true;
}

}  // namespace cmcp
