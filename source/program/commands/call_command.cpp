#include "commands/commands.hpp"
#include "commands/remote_choice.hpp"
#include "config/config_error.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "text/words.hpp"

#include <fstream>
#include <iostream>
#include <iterator>
#include <utility>

namespace cmcp::command {

namespace {

constexpr int exit_of_error = 1;

std::string read_stream(std::istream& from) { return {std::istreambuf_iterator<char>(from), {}}; }

std::string read_argument_file(const std::string& name)
{
    std::ifstream file(name, std::ios::binary);
    auto text = read_stream(file);
    if (!file.good() && !file.eof()) throw config_error("the file " + name + " cannot be read");
    return text;
}

json::object object_in(const std::string& text, const char* from)
{
    auto value = jsonrpc::read_value(text);
    if (!value || !value->is_object())
        throw config_error(std::string(from) + " must be an object of JSON, as {\"command\": \"ls\"}");
    return std::move(value->get_object());
}

// NAME=TEXT, NAME:=JSON or NAME=@FILE. The server takes a text for a number, a list and the like where it means one.
void add_argument(json::object& to, const std::string& word)
{
    const auto equals = word.find('=');
    if (equals == std::string::npos || equals == 0)
        throw config_error("\"" + word + "\" is no argument: write NAME=VALUE, NAME:=JSON or NAME=@FILE");
    auto value = word.substr(equals + 1);
    if (word[equals - 1] == ':') {
        auto parsed = jsonrpc::read_value(value);
        if (!parsed) throw config_error("the value of \"" + word + "\" is no JSON; for a text write NAME=TEXT");
        to[word.substr(0, equals - 1)] = std::move(*parsed);
    } else {
        to[word.substr(0, equals)] = value.starts_with('@') ? read_argument_file(value.substr(1)) : value;
    }
}

json::object arguments_of(const call_words& line)
{
    json::object all;
    if (line.json == "-")
        all = object_in(read_stream(std::cin), "standard input");
    else if (!line.json.empty())
        all = object_in(line.json, "--json");
    for (const auto& word : line.arguments) add_argument(all, word);
    return all;
}

void say_block(std::string& text, const json::object& block)
{
    const auto kind = text_of(block, "type");
    if (kind == "text")
        add_line(text, text_of(block, "text"));
    else
        add_line(text, "[" + kind + " " + text_of(block, "mimeType") + "; -o json has it]");
}

std::string text_of_result(const json::object& result)
{
    std::string text;
    if (const auto* content = result.if_contains("content"); content != nullptr && content->is_array())
        for (const auto& block : content->get_array())
            if (block.is_object()) say_block(text, block.get_object());
    begin_line(text);
    return text;
}

awaitable<int> call_in(server_client& server, const call_words& line, json::object arguments)
{
    const auto heard = co_await server.call(line.tool, std::move(arguments));
    if (const auto& error = object_of(heard, "error"); !error.empty())
        throw std::runtime_error(text_of(error, "message"));
    const auto& result = object_of(heard, "result");
    const bool failed = flag_of(result, "isError");
    const auto* structured = result.if_contains("structuredContent");
    if (line.output == "json")
        std::cout << jsonrpc::write_json(structured != nullptr ? *structured : json::value(result)) << '\n';
    else
        (failed ? std::cerr : std::cout) << text_of_result(result);
    std::cout.flush();
    if (!std::cout) throw closed_output();
    co_return failed ? exit_of_error : 0;
}

}  // namespace

int call_tool(const loaded_settings& loaded, const call_words& line)
{
    const auto arguments = arguments_of(line);
    return with_server(loaded.values, line.server,
                       [&line, &arguments](server_client& server) { return call_in(server, line, arguments); });
}

}  // namespace cmcp::command
