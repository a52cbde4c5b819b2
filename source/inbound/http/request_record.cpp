#include "http/request_record.hpp"

#include "audit/sink.hpp"
#include "http/route.hpp"
#include "log/request_id.hpp"

namespace cmcp {

namespace {

using log::unless_empty;

constexpr std::size_t longest_path_told = 200;

bool only_reads(const http_request& request) { return request.method == "GET" || request.method == "HEAD"; }

bool is_recorded_request(const http_request& request)
{
    if (request.target == nullptr) return false;
    const auto which = request.target->audit;
    return which == route_audit::calls || (which == route_audit::changes && !only_reads(request));
}

std::string_view ending_of_request(int status)
{
    constexpr int first_refusal = 400, first_failure = 500;
    if (status == 0) return "gone";
    return status < first_refusal ? "ok" : status < first_failure ? "refused" : "error";
}

std::string_view told_path(const http_request& request)
{
    return std::string_view(request.path).substr(0, longest_path_told);
}

// A text that is neither a handle nor an ordinary name is not repeated.
std::optional<std::string> sandbox_named_by(const http_request& request)
{
    constexpr std::size_t longest = 80;
    auto name = request.filled_parameter("sandbox_id");
    if (!name) name = request.parameter("sandbox_name");
    return name && log::is_plain_id(*name, longest) ? name : std::nullopt;
}

}  // namespace

void note_origin(http_request& request, connection_origin& known, seen_logins& seen)
{
    if (audit::current() == nullptr || !request.who) return;
    if (known.who == request.who && known.text->address == request.address) {
        request.origin = known.text;
        return;
    }
    known.who = request.who;
    known.text =
        std::make_shared<jsonrpc::request_origin>(jsonrpc::request_origin{request.who->credential, request.address});
    request.origin = known.text;
    const auto& who = *request.who;
    const bool is_new =
        seen.is_new(who.credential + '\n' + who.principal + '\n' + request.address, seen_logins::clock::now());
    if (is_new) record_login(request, who);
}

// The query may hold a signature, and names files.
void record_request(const http_request& request, int status, std::chrono::duration<double> took)
{
    if (audit::current() == nullptr || !is_recorded_request(request)) return;
    const bool administers = request.target->audit == route_audit::changes;
    const json::object arguments{{"query", request.query}};
    const auto* from = request.origin.get();
    audit::add(administers ? audit::kind::admin : audit::kind::call,
               {{"request", request.id},
                {"client_request_id", unless_empty(request.client_id())},
                {"principal", unless_empty(request.principal)},
                {"credential", unless_empty(from != nullptr ? from->credential : "")},
                {"peer", unless_empty(request.address)},
                {"method", request.method},
                {"path", told_path(request)},
                {"sandbox", sandbox_named_by(request)},
                {"concerns", unless_empty(request.concerns)},
                {"cause", ending_of_request(status)},
                {"status", status},
                {"ms", took}},
               request.query.empty() ? nullptr : &arguments);
}

void record_login(const http_request& request, const login& who, std::string_view by)
{
    audit::add(audit::kind::login, {{"request", request.id},
                                    {"principal", unless_empty(who.principal)},
                                    {"credential", who.credential},
                                    {"peer", unless_empty(request.address)},
                                    {"scopes", who.scopes.text()},
                                    {"by", unless_empty(by)}});
}

void record_refused_login(const http_request& request, std::string_view reason)
{
    audit::add(audit::kind::login_refused, {{"request", request.id},
                                            {"client_request_id", unless_empty(request.client_id())},
                                            {"peer", request.address},
                                            {"method", request.method},
                                            {"path", told_path(request)},
                                            {"reason", reason}});
}

std::string why_unrecordable(const http_request& request)
{
    const bool calls = request.target != nullptr && request.target->audit == route_audit::calls;
    return calls ? audit::refusal() : std::string();
}

}  // namespace cmcp
