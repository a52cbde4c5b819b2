#include "commands/remote_choice.hpp"

#include "commands/text_table.hpp"
#include "config/config_error.hpp"
#include "jsonrpc/read_object.hpp"
#include "server/run_loop.hpp"
#include "text/encodings.hpp"

#include <algorithm>
#include <cctype>
#include <csignal>
#include <functional>
#include <vector>

namespace cmcp::command {

namespace {

constexpr std::string_view name_of_default = "default";

// The end of an id, where the word shows it shortened ("sbx_…1a2b3c4d").
std::string searched_part(const std::string& word)
{
    constexpr std::string_view ellipsis = "…";
    const auto at = word.find(ellipsis);
    return at == std::string::npos ? word : word.substr(at + ellipsis.size());
}

struct candidate {
    found_sandbox sandbox;
    std::string principal;
};

std::string principals_of(const std::vector<candidate>& all)
{
    std::string text;
    for (const auto& each : all)
        text += (text.empty() ? "" : ", ") + (each.principal.empty() ? std::string("-") : each.principal) + ": " +
                short_handle(each.sandbox.id);
    return text;
}

awaitable<std::vector<candidate>> candidates_for(server_client& server, std::string word)
{
    const std::string target = "/admin/sandboxes?limit=1000&match=" + in_query(searched_part(word));
    const auto answer = co_await server.ask_or_throw("GET", target);
    const bool by_socket = !server.place().socket.empty();
    const auto& wanted = server.place().principal;
    std::vector<candidate> candidates;
    for (const auto& row : answer.at("sandboxes").as_array()) {
        const auto& of = row.as_object();
        candidate each{{text_of(of, "id"), text_of(of, "name")}, text_of(of, "principal")};
        const bool fits = each.sandbox.name == word || names_handle(word, each.sandbox.id);
        if (!fits || (by_socket && !wanted.empty() && each.principal != wanted)) continue;
        if (each.sandbox.id == word) co_return std::vector<candidate>{std::move(each)};
        candidates.push_back(std::move(each));
    }
    // A name goes before the end of an id.
    const auto has_name = [&word](const candidate& each) { return each.sandbox.name == word; };
    if (std::ranges::any_of(candidates, has_name)) std::erase_if(candidates, std::not_fn(has_name));
    co_return candidates;
}

awaitable<> run_work(const server_work& work, server_client& server, int& code) { code = co_await work(server); }

}  // namespace

server_place place_of(const settings& config, const server_choice& choice)
{
    if (choice.url.empty()) {
        if (!choice.token_by_option.empty())
            throw config_error("--token is for a server that --server names; the own one asks for none");
        auto place = own_server(config);
        place.principal = choice.principal;
        return place;
    }
    if (!choice.principal.empty())
        throw config_error("--principal is for the own server; at another one the token says for whom you ask");
    return server_at(config, choice.url, choice.token_by_option.empty() ? choice.token : choice.token_by_option);
}

std::string in_query(std::string_view text)
{
    return percent_encoded(text,
                           [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.'; });
}

std::string query_part(const found_sandbox& where)
{
    return where.id.empty() ? "" : "sandbox_id=" + in_query(where.id);
}

awaitable<found_sandbox> find_sandbox(server_client& server, std::string word)
{
    if (word.empty()) co_return found_sandbox{{}, std::string(name_of_default)};
    auto candidates = co_await candidates_for(server, word);
    const bool is_default = word == name_of_default;
    // The name that each caller has one of means the caller's own.
    const auto own = [&](const candidate& each) { return each.principal == server.place().principal; };
    if (is_default && candidates.size() > 1 && std::ranges::any_of(candidates, own))
        std::erase_if(candidates, [&](const candidate& each) { return !own(each); });
    if (candidates.empty() && is_default) co_return found_sandbox{{}, word};
    if (candidates.empty())
        throw std::runtime_error("there is no sandbox \"" + word +
                                 "\"; `container-mcp sandboxes` shows those that there are");
    if (candidates.size() > 1)
        throw std::runtime_error("\"" + word + "\" names several sandboxes (" + principals_of(candidates) +
                                 "): give more of the id, or --principal");
    if (!server.place().socket.empty()) server.act_for(candidates.front().principal);
    co_return std::move(candidates.front().sandbox);
}

int with_server(const settings& config, const server_choice& choice, const server_work& work)
{
    std::signal(SIGPIPE, SIG_IGN);
    asio::io_context io(1);
    server_client server(io.get_executor(), place_of(config, choice));
    int code = 0;
    try {
        run_loop(io, run_work(work, server, code));
    } catch (const closed_output&) {
        return exit_of_closed_output;
    }
    return code;
}

}  // namespace cmcp::command
