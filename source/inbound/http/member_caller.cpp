#include "http/member_caller.hpp"

#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "text/encodings.hpp"
#include "text/principal_name.hpp"

#include <algorithm>

namespace cmcp {

namespace {

json::object described(const login& who)
{
    json::object text;
    text["principal"] = who.principal;
    text["credential"] = who.credential;
    text["scopes"] = who.scopes.text();
    text["profile"] = who.profile;
    text["from"] = static_cast<int>(who.from);
    return text;
}

// These become words of the log and of answers.
bool is_plain(std::string_view text)
{
    constexpr std::size_t longest = 512;
    return text.size() <= longest && std::ranges::none_of(text, [](unsigned char c) { return c < ' ' || c == 0x7f; });
}

// Null: no caller can be called like that.
login_ptr login_of(const json::object& text)
{
    auto who = std::make_shared<login>();
    who->principal = text_of(text, "principal");
    who->credential = text_of(text, "credential");
    who->scopes = scope_set::parse(view_of(text, "scopes"));
    who->profile = text_of(text, "profile");
    const auto from = number_of(text, "from");
    if (from > 0 && from <= static_cast<int>(login::source::issuer)) who->from = static_cast<login::source>(from);
    const bool is_named = who->principal.empty() || can_be_principal(who->principal);
    if (!is_named || !is_plain(who->credential) || !is_plain(who->profile)) return nullptr;
    return who;
}

}  // namespace

std::string written(const member_caller& caller)
{
    json::object text;
    if (caller.who) text["login"] = described(*caller.who);
    text["address"] = caller.address;
    text["host"] = caller.host;
    text["secure"] = caller.secure;
    if (caller.of_message) {
        text["revision"] = caller.revision;
        text["profile"] = caller.profile;
        text["server"] = caller.server;
        text["program"] = caller.is_program;
    }
    return base64url_encode(jsonrpc::write_json(text));
}

std::shared_ptr<const member_caller> read_member_caller(std::string_view text)
{
    const auto decoded = base64url_decode(text);
    const auto read = decoded ? jsonrpc::read_object(*decoded) : json::object();
    if (!read.contains("address")) return nullptr;
    auto caller = std::make_shared<member_caller>();
    if (read.contains("login")) caller->who = login_of(object_of(read, "login"));
    if (read.contains("login") && !caller->who) return nullptr;
    caller->address = text_of(read, "address");
    caller->host = text_of(read, "host");
    caller->secure = flag_of(read, "secure");
    caller->of_message = read.contains("revision");
    caller->revision = text_of(read, "revision");
    caller->profile = text_of(read, "profile");
    caller->server = text_of(read, "server");
    caller->is_program = flag_of(read, "program");
    for (const auto& each : {caller->address, caller->host, caller->revision, caller->profile, caller->server})
        if (!is_plain(each)) return nullptr;
    return caller;
}

}  // namespace cmcp
