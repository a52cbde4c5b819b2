#include "mcp/call_view.hpp"

#include "jsonrpc/read_object.hpp"
#include "mcp/call_history.hpp"
#include "mcp/params.hpp"
#include "mcp/running_request.hpp"
#include "text/utf8_text.hpp"

namespace cmcp {

namespace {

constexpr std::size_t most_output = 2048;
constexpr std::size_t longest_name = 80;

std::string_view said_by(const caller& who, std::string_view member)
{
    return utf8_prefix(view_of(who.client_info, member), longest_name);
}

void add_activity(call_view& view, const running_request& work)
{
    if (!work.context) return;
    const auto& now = work.context->io.activity();
    view.waits = now.waits;
    if (now.output != nullptr) view.newest = now.output->newest(most_output);
}

call_view view_of(const running_request& request)
{
    const auto worker = request.worker.lock();
    const auto& work = worker ? *worker : request;
    call_view view;
    view.id = request.ids.own;
    view.tool = utf8_prefix(request.target, longest_name);
    view.sandbox = work.facts.sandbox;
    view.began = work.began;
    if (request.who != nullptr) {
        view.principal = request.who->principal;
        view.session = request.who->session_tag;
        view.client = client_name(*request.who);
    }
    if (const auto* arguments = work.arguments()) view.first_line = first_line_of(*arguments);
    add_activity(view, work);
    return view;
}

}  // namespace

std::string client_name(const caller& who)
{
    std::string name(said_by(who, "name"));
    const auto version = said_by(who, "version");
    if (!name.empty() && !version.empty()) name.append(" ").append(version);
    return name;
}

std::vector<call_view> running_calls(const request_register& requests)
{
    std::vector<call_view> all;
    for (const auto* each : requests.all()) {
        const bool runs = each->life.now() == request_life::state::running;
        if (runs && each->method == "tools/call") all.push_back(view_of(*each));
    }
    return all;
}

}  // namespace cmcp
