#include "load/server_check.hpp"

#include "jsonrpc/json.hpp"
#include "load/client_session.hpp"
#include "text/words.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <set>

namespace cmcp::load {

namespace {

bool calls_a_tool(const load_options& options)
{
    return std::any_of(options.calls.begin(), options.calls.end(),
                       [](const operation& each) { return !each.tool.empty(); });
}

load_options with_list_alone(load_options of_the_load)
{
    of_the_load.calls = {parse_operation("tools/list")};
    return of_the_load;
}

class server_check final : public session_host {
public:
    server_check(asio::io_context& io, const load_options& of_the_load, server_list& all, std::size_t which)
        : session_host(io.get_executor(), own_, all, record_, counted_),
          own_(with_list_alone(of_the_load)),
          record_(1, all.size()),
          io_(io),
          timer_(io),
          session_(make_session(*this, role::calling, which)),
          lists_(calls_a_tool(of_the_load) || of_the_load.transport == transport::stateless)
    {
    }

    void start()
    {
        session_->open();
        watch();
    }

    const failure& problem() const { return problem_; }
    const std::set<std::string>& tools() const { return tools_; }

private:
    void opened(client_session&) override
    {
        if (lists_) return session_->call(0, clock::now());
        finish({});
    }

    void failed_to_open(client_session&, const failure& why) override
    {
        bool next = why.kind.starts_with("connect:") && servers.way(session_->server_number()).try_next_address();
        if (!next) return finish(why);
        asio::post(executor, [this] { session_->open(); });
    }

    failure answered(client_session&, std::string_view answer) override
    {
        read_page(answer);
        return {};
    }

    void free(client_session&) override
    {
        const auto& failures = record_.calls[0].errors.kinds();
        if (!failures.empty()) return finish({failures.begin()->first, failures.begin()->second.first_text});
        if (cursor_.empty()) return finish({});
        own_.calls[0].arguments = json::serialize(json::object{{"cursor", cursor_}});
        asio::post(executor, [this] { session_->call(0, clock::now()); });
    }

    void lost(client_session& which, const failure&) override { free(which); }

    void read_page(std::string_view answer)
    {
        cursor_.clear();
        boost::system::error_code error;
        auto parsed = json::parse(json::string_view(answer.data(), answer.size()), error);
        const auto* list = error ? nullptr : parsed.as_object().if_contains("result");
        if (list == nullptr || !list->is_object()) return;
        if (const auto* next = list->get_object().if_contains("nextCursor"); next != nullptr && next->is_string())
            cursor_ = json::value_to<std::string>(*next);
        const auto* tools = list->get_object().if_contains("tools");
        if (tools == nullptr || !tools->is_array()) return;
        for (const auto& tool : tools->get_array())
            if (const auto* name = tool.is_object() ? tool.get_object().if_contains("name") : nullptr)
                if (name->is_string()) tools_.insert(json::value_to<std::string>(*name));
    }

    void watch()
    {
        timer_.expires_after(std::chrono::milliseconds(100));
        timer_.async_wait([this](boost::system::error_code error) {
            if (error) return;
            session_->check_time(clock::now());
            watch();
        });
    }

    void finish(const failure& why)
    {
        problem_ = why;
        io_.stop();
    }

    load_options own_;
    recorder record_;
    traffic counted_;
    asio::io_context& io_;
    asio::steady_timer timer_;
    std::unique_ptr<client_session> session_;
    bool lists_;
    std::string cursor_;
    std::set<std::string> tools_;
    failure problem_;
};

std::string in_words(const failure& why) { return why.text.empty() ? why.kind : why.kind + ": " + why.text; }

std::string target_of(const load_options& options, route& way)
{
    return options.transport == transport::stdio ? options.target() : way.to().url();
}

std::string sentence_of(const failure& why, const load_options& options, const std::string& target)
{
    if (options.transport == transport::stdio) return "No session with " + target + " (" + in_words(why) + ").";
    constexpr std::string_view connect = "connect: ";
    if (why.kind.starts_with(connect))
        return "Nothing answers at " + target + ": " + why.kind.substr(connect.size()) + ".";
    if (why.kind.starts_with("TLS: ")) return "No secure connection to " + target + ": " + why.kind.substr(5) + ".";
    if (why.kind == "HTTP 401" || why.kind == "HTTP 403")
        return target + " refuses this client (" + in_words(why) +
               "): a token is passed with CONTAINER_MCP_TOKEN or --token.";
    if (why.kind == "HTTP 404") return target + " is no endpoint of this transport (" + in_words(why) + ").";
    if (options.transport == transport::stateless &&
        (why.kind.starts_with("HTTP 4") || why.kind.starts_with("JSON-RPC")))
        return target + " does not know the stateless revision 2026-07-28 (" + in_words(why) +
               "): test it with -t streamable.";
    return "No session could be opened at " + target + " (" + in_words(why) + ").";
}

void check_tools(const load_options& options, const std::set<std::string>& tools, const std::string& target)
{
    for (const auto& each : options.calls) {
        if (each.tool.empty() || tools.contains(each.tool)) continue;
        if (tools.empty()) throw cannot_begin(target + " offers no tools, so \"" + each.tool + "\" cannot be called.");
        throw cannot_begin(target + " offers no tool \"" + each.tool + "\"; of its " + std::to_string(tools.size()) +
                           " the nearest: " + name_nearest(each.tool, {tools.begin(), tools.end()}) + ".");
    }
}

void check_one(const load_options& options, server_list& servers, std::size_t which)
{
    asio::io_context io(1);
    server_check check(io, options, servers, which);
    check.start();
    io.run();
    auto target = target_of(options, servers.way(which));
    bool no_tools = check.problem().kind == "JSON-RPC -32601";
    if (!check.problem().kind.empty() && !no_tools) throw cannot_begin(sentence_of(check.problem(), options, target));
    check_tools(options, check.tools(), target);
}

}  // namespace

std::string name_nearest(const std::string& wanted, std::vector<std::string> offered)
{
    constexpr std::size_t most = 3;
    std::stable_sort(offered.begin(), offered.end(), [&wanted](const std::string& a, const std::string& b) {
        return edit_distance(wanted, a) < edit_distance(wanted, b);
    });
    offered.resize(std::min(offered.size(), most));
    std::string names;
    for (const auto& each : offered) names.append(names.empty() ? "" : ", ").append(each);
    return names;
}

std::vector<std::string> check_servers(const load_options& options, server_list& servers)
{
    std::vector<std::string> problems;
    for (std::size_t which = 0; which < servers.size(); ++which) {
        try {
            check_one(options, servers, which);
        } catch (const cannot_begin& e) {
            problems.emplace_back(e.what());
            servers.failed(which, clock::now());
        }
    }
    if (problems.size() == servers.size()) throw cannot_begin(problems.front());
    return problems;
}

}  // namespace cmcp::load
