#include "config/settings.hpp"
#include "mcp/tool_registry.hpp"
#include "preview/previews.hpp"
#include "tools/sandbox_tools.hpp"
#include "tools/tools.hpp"

#include <algorithm>
#include <chrono>

namespace cmcp {
namespace {

constexpr int highest_port = 65'535;

struct port_input : sandbox_input {
    int port = 0;
};

struct expose_input : port_input {
    std::chrono::milliseconds ttl{0};
};

using port_list = std::vector<std::uint16_t>;

json::object link_json(const previews& shown, const caller& who, const port_link& link, const port_list& listening)
{
    json::object row{{"port", link.port}, {"url", shown.url_of(link, who)}, {"expires", time_text(link.expires)}};
    row["listening"] = std::find(listening.begin(), listening.end(), link.port) != listening.end();
    return row;
}

field<port_input> port_field()
{
    return {"port", &port_input::port, "", rule::between(1, highest_port), rule::required, rule::example(8000)};
}

tool_result no_address()
{
    return sandbox_refusal("NotAvailable",
                           "This server has no HTTP address to which a link could lead: start it with `container-mcp "
                           "serve`.");
}

std::chrono::seconds life_of(const expose_input& input, const settings& config)
{
    constexpr std::chrono::seconds usual{3600};
    const auto most = std::chrono::floor<std::chrono::seconds>(config.preview_ttl);
    const auto wanted = std::chrono::ceil<std::chrono::seconds>(input.ttl);
    return std::min(wanted.count() == 0 ? usual : wanted, most);
}

std::string note_about(const port_link& link, bool listens)
{
    const std::string port = std::to_string(link.port);
    if (listens) return "Whoever has the link can use it. unexpose_port ends it before its time.";
    return "Nothing listens on port " + port +
           " yet: start the program, on 127.0.0.1 or 0.0.0.0, so that it goes on when its call ends. Whoever has the "
           "link "
           "can use it. unexpose_port ends it before its time.";
}

awaitable<tool_result> process_expose(previews& shown, sandbox_manager& sandboxes, const settings& config,
                                      tool_context& context, expose_input input)
{
    const auto where = co_await sandboxes.use(context.who, input.sandbox_id);
    if (sandboxes.address_for(context.who).empty()) co_return no_address();
    const auto port = static_cast<std::uint16_t>(input.port);
    const port_list listening = co_await shown.listening(where);
    const port_link link = shown.links().show(where.owner, where.id, port, life_of(input, config));
    json::object row = link_json(shown, context.who, link, listening);
    row["sandbox_id"] = where.id;
    row["note"] = note_about(link, row.at("listening").as_bool());
    co_return answer_of(std::move(row));
}

tool_owner make_expose_port(previews& shown, sandbox_manager& sandboxes, const settings& config)
{
    using input = expose_input;
    return make_tool<input>(
        {.about = {.name = "expose_port",
                   .title = "Show a port of a sandbox",
                   .description = "Make a link for people to a port of a sandbox. Look at it yourself with web_browse.",
                   .output_schema =
                       schema::output({{"sandbox_id", schema::string("Handle of the sandbox")},
                                       {"port", schema::typed("integer", "The port")},
                                       {"url", schema::string("The link: whoever has it can use it")},
                                       {"expires", schema::string("When it ends, ISO 8601, UTC")},
                                       {"listening", schema::boolean("Whether a program listens there now")},
                                       {"note", schema::string("Advice")}},
                                      {"sandbox_id", "port", "url", "expires", "listening"}),
                   .needs = scope::run,
                   .annotations = {.read_only = false, .destructive = false, .idempotent = false, .open_world = false},
                   .about = unnamed_subject::default_sandbox},
         .input = {sandbox_id_field(),
                   port_field(),
                   {"ttl", &input::ttl, "Seconds", rule::unlisted, json::object{{"exclusiveMinimum", 0}}}},
         .process = std::bind_front(process_expose, std::ref(shown), std::ref(sandboxes), std::cref(config))});
}

awaitable<tool_result> process_list_ports(previews& shown, sandbox_manager& sandboxes, tool_context& context,
                                          sandbox_input input)
{
    const auto where = co_await sandboxes.use(context.who, input.sandbox_id);
    const port_list listening = co_await shown.listening(where);
    tool_result result;
    result.structured["sandbox_id"] = where.id;
    json::array& rows = result.structured["exposed"].emplace_array();
    for (const port_link& link : shown.links().of(where.id))
        rows.push_back(link_json(shown, context.who, link, listening));
    json::array& ports = result.structured["listening"].emplace_array();
    for (const std::uint16_t port : listening) ports.push_back(port);
    co_return result;
}

tool_owner make_list_exposed_ports(previews& shown, sandbox_manager& sandboxes)
{
    auto row = schema::object("",
                              {{"port", schema::typed("integer", "")},
                               {"url", schema::string("The link")},
                               {"expires", schema::string("ISO 8601, UTC")},
                               {"listening", schema::boolean("Whether a program listens there now")}},
                              {"port", "url", "expires", "listening"});
    return make_tool<sandbox_input>(
        {.about = {.name = "list_exposed_ports",
                   .title = "List ports of a sandbox",
                   .description = "Shown and listening ports of a sandbox.",
                   .output_schema = schema::output(
                       {{"sandbox_id", schema::string("Handle of the sandbox")},
                        {"exposed", schema::array("Ports with a link", std::move(row))},
                        {"listening", schema::array("Ports on which a program listens", schema::typed("integer", ""))}},
                       {"sandbox_id", "exposed", "listening"}),
                   .needs = scope::read,
                   .annotations = {.read_only = true, .destructive = false, .idempotent = true, .open_world = false},
                   .about = unnamed_subject::default_sandbox},
         .input = {sandbox_id_field()},
         .process = std::bind_front(process_list_ports, std::ref(shown), std::ref(sandboxes))});
}

awaitable<tool_result> process_unexpose(previews& shown, sandbox_manager& sandboxes, tool_context& context,
                                        port_input input)
{
    const auto where = co_await sandboxes.use(context.who, input.sandbox_id);
    if (!shown.links().withdraw(where.id, static_cast<std::uint16_t>(input.port)))
        throw sandbox_error("NotFound", "There is no link to port " + std::to_string(input.port) +
                                            " of this sandbox; list_exposed_ports shows those that there are.");
    co_return answer_of({{"success", true}, {"sandbox_id", where.id}, {"port", input.port}});
}

tool_owner make_unexpose_port(previews& shown, sandbox_manager& sandboxes)
{
    return make_tool<port_input>(
        {.about = {.name = "unexpose_port",
                   .title = "End the link to a port",
                   .description = "End a link to a port.",
                   .output_schema = schema::output({{"success", schema::boolean("Whether the link has ended")},
                                                    {"sandbox_id", schema::string("Handle of the sandbox")},
                                                    {"port", schema::typed("integer", "The port")}},
                                                   {"success", "sandbox_id", "port"}),
                   .needs = scope::run,
                   .annotations = {.read_only = false, .destructive = true, .idempotent = true, .open_world = false},
                   .about = unnamed_subject::default_sandbox},
         .input = {sandbox_id_field(), port_field()},
         .process = std::bind_front(process_unexpose, std::ref(shown), std::ref(sandboxes))});
}

}  // namespace

void add_port_tools(tool_registry& registry, previews& shown, sandbox_manager& sandboxes, const settings& config)
{
    registry.add(make_expose_port(shown, sandboxes, config));
    registry.add(make_list_exposed_ports(shown, sandboxes));
    registry.add(make_unexpose_port(shown, sandboxes));
}

}  // namespace cmcp
