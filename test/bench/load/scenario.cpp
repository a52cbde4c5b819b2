#include "load/scenario.hpp"

#include "load/ready_scenarios.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <span>
#include <sstream>
#include <stdexcept>

namespace cmcp::load {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_scenario(const std::string& why) { throw std::invalid_argument("scenario: " + why); }

void check_members(const json::object& of, std::span<const std::string_view> known, const std::string& where)
{
    for (const auto& [name, value] : of)
        if (std::ranges::find(known, std::string_view(name.data(), name.size())) == known.end())
            refuse_scenario("unknown member \"" + std::string(name) + "\" of " + where);
}

const json::value* member(const json::object& of, std::string_view name)
{
    return of.if_contains(json::string_view(name.data(), name.size()));
}

std::string text_of(const json::object& of, std::string_view name, const std::string& where)
{
    const auto* value = member(of, name);
    if (value == nullptr) return {};
    if (!value->is_string()) refuse_scenario("\"" + std::string(name) + "\" of " + where + " is not a text");
    return std::string(value->get_string());
}

double number_of(const json::object& of, std::string_view name, double usual, const std::string& where)
{
    const auto* value = member(of, name);
    if (value == nullptr) return usual;
    if (!value->is_number() || value->to_number<double>() < 0)
        refuse_scenario("\"" + std::string(name) + "\" of " + where + " is not a number of 0 or more");
    return value->to_number<double>();
}

bool flag_of(const json::object& of, std::string_view name, const std::string& where)
{
    const auto* value = member(of, name);
    if (value == nullptr) return false;
    if (!value->is_bool()) refuse_scenario("\"" + std::string(name) + "\" of " + where + " is neither true nor false");
    return value->get_bool();
}

scenario_step read_step(const json::value& value, std::size_t number)
{
    constexpr std::string_view known[] = {"name",   "call",         "arguments", "headers", "capture",
                                          "expect", "output_bytes", "repeat",    "always"};
    const std::string where = "step " + std::to_string(number);
    if (!value.is_object()) refuse_scenario(where + " is not an object");
    const auto& of = value.get_object();
    check_members(of, known, where);
    scenario_step step;
    const auto call = text_of(of, "call", where);
    if (call.empty()) refuse_scenario(where + " has no \"call\"");
    step.what = parse_operation(call);
    if (const auto name = text_of(of, "name", where); !name.empty()) step.what.name = name;
    if (step.what.name.find('.') != std::string::npos) refuse_scenario("the name of " + where + " has a dot");
    if (const auto* arguments = member(of, "arguments")) {
        if (!arguments->is_object()) refuse_scenario("\"arguments\" of " + where + " is not an object");
        step.arguments = arguments->get_object();
    }
    if (const auto* headers = member(of, "headers")) {
        if (!headers->is_object()) refuse_scenario("\"headers\" of " + where + " is not an object");
        step.headers = headers->get_object();
    }
    if (const auto* capture = member(of, "capture")) {
        if (!capture->is_object()) refuse_scenario("\"capture\" of " + where + " is not an object");
        for (const auto& [variable, path] : capture->get_object()) {
            if (!path.is_string()) refuse_scenario("\"capture\" of " + where + " has a value that is not a text");
            step.capture[std::string(variable)] = std::string(path.get_string());
        }
    }
    step.expect = text_of(of, "expect", where);
    step.output_bytes = static_cast<std::uint64_t>(number_of(of, "output_bytes", 0, where));
    step.repeat = static_cast<std::size_t>(number_of(of, "repeat", 1, where));
    if (step.repeat == 0) refuse_scenario("\"repeat\" of " + where + " is 0");
    step.always = flag_of(of, "always", where);
    return step;
}

load_stage read_stage(const json::value& value, std::size_t number)
{
    constexpr std::string_view known[] = {"seconds", "rate", "to"};
    const std::string where = "stage " + std::to_string(number);
    if (!value.is_object()) refuse_scenario(where + " is not an object");
    const auto& of = value.get_object();
    check_members(of, known, where);
    load_stage stage;
    stage.time = std::chrono::milliseconds(static_cast<std::int64_t>(number_of(of, "seconds", 0, where) * 1000));
    stage.from = number_of(of, "rate", 0, where);
    stage.to = number_of(of, "to", stage.from, where);
    if (stage.time.count() == 0 || stage.from + stage.to == 0)
        refuse_scenario(where + " needs \"seconds\" and \"rate\" above 0");
    return stage;
}

// RFC 4180, without line ends within quotes.
std::vector<std::string> cells_of(std::string_view line)
{
    std::vector<std::string> cells(1);
    bool quoted = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] == '"' && quoted && line.substr(i + 1, 1) == "\"")
            cells.back() += line[i++];
        else if (line[i] == '"')
            quoted = !quoted;
        else if (line[i] == ',' && !quoted)
            cells.emplace_back();
        else if (line[i] != '\r')
            cells.back() += line[i];
    }
    return cells;
}

std::vector<json::object> read_rows(const fs::path& file)
{
    std::ifstream lines(file);
    if (!lines) refuse_scenario("the data file " + file.string() + " cannot be read");
    std::string line;
    std::getline(lines, line);
    const auto names = cells_of(line);
    std::vector<json::object> rows;
    while (std::getline(lines, line)) {
        if (line.empty()) continue;
        const auto cells = cells_of(line);
        if (cells.size() != names.size())
            refuse_scenario(file.string() + ": a row has " + std::to_string(cells.size()) + " cells, its head " +
                            std::to_string(names.size()));
        json::object row;
        for (std::size_t i = 0; i != names.size(); ++i) row[names[i]] = cells[i];
        rows.push_back(std::move(row));
    }
    if (rows.empty()) refuse_scenario("the data file " + file.string() + " has no row below its head");
    return rows;
}

std::vector<std::string> texts_of(const json::object& of, std::string_view name)
{
    std::vector<std::string> all;
    const auto* value = member(of, name);
    if (value == nullptr) return all;
    if (!value->is_array()) refuse_scenario("\"" + std::string(name) + "\" is not a list");
    for (const auto& each : value->get_array()) {
        if (!each.is_string()) refuse_scenario("\"" + std::string(name) + "\" has an entry that is not a text");
        all.emplace_back(each.get_string());
    }
    return all;
}

const json::value& value_of(const json::object& variables, std::string_view name)
{
    const auto* value = member(variables, name);
    if (value == nullptr) throw std::invalid_argument("{{" + std::string(name) + "}} has no value");
    return *value;
}

json::value filled(const json::value& with, const json::object& variables);

// A text that is one variable alone becomes its value, whatever kind that is.
json::value filled_text(std::string_view text, const json::object& variables)
{
    std::string result;
    for (std::size_t at = 0;;) {
        const auto open = text.find("{{", at);
        const auto close = open == std::string_view::npos ? open : text.find("}}", open);
        if (close == std::string_view::npos) return json::value(json::string(result.append(text.substr(at))));
        const auto& value = value_of(variables, text.substr(open + 2, close - open - 2));
        if (open == 0 && close + 2 == text.size()) return value;
        result.append(text.substr(at, open - at));
        if (value.is_string())
            result.append(value.get_string().data(), value.get_string().size());
        else
            result.append(json::serialize(value));
        at = close + 2;
    }
}

json::value filled(const json::value& with, const json::object& variables)
{
    if (const auto* text = with.if_string()) return filled_text({text->data(), text->size()}, variables);
    if (const auto* list = with.if_array()) {
        json::array all;
        for (const auto& each : *list) all.push_back(filled(each, variables));
        return json::value(std::move(all));
    }
    const auto* object = with.if_object();
    if (object == nullptr) return with;
    json::object all;
    for (const auto& [name, value] : *object) all[name] = filled(value, variables);
    return json::value(std::move(all));
}

// A server of an older revision has the structured result as its first text.
json::value structured_result(std::string_view answer)
{
    boost::system::error_code error;
    const auto message = json::parse(json::string_view(answer.data(), answer.size()), error);
    const auto* result = error || !message.is_object() ? nullptr : member(message.get_object(), "result");
    if (result == nullptr || !result->is_object()) return nullptr;
    if (const auto* structured = member(result->get_object(), "structuredContent")) return *structured;
    const auto* content = member(result->get_object(), "content");
    if (content == nullptr || !content->is_array() || content->get_array().empty()) return *result;
    const auto& first = content->get_array().front();
    const auto* text = first.is_object() ? member(first.get_object(), "text") : nullptr;
    if (text == nullptr || !text->is_string()) return *result;
    auto inner = json::parse(text->get_string(), error);
    return error ? *result : inner;
}

const json::value* member_at(const json::value& of, std::string_view path)
{
    const auto dot = path.find('.');
    const auto* object = of.if_object();
    const auto* value = object == nullptr ? nullptr : member(*object, path.substr(0, dot));
    return value == nullptr || dot == std::string_view::npos ? value : member_at(*value, path.substr(dot + 1));
}

}  // namespace

std::chrono::milliseconds scenario::duration() const
{
    std::chrono::milliseconds sum{0};
    for (const auto& each : stages) sum += each.time;
    return sum;
}

double scenario::rate_at(std::chrono::nanoseconds time) const
{
    for (const auto& each : stages) {
        if (time < each.time) {
            const double share = std::chrono::duration<double>(time) / std::chrono::duration<double>(each.time);
            return each.from + (each.to - each.from) * share;
        }
        time -= each.time;
    }
    return stages.empty() ? 0 : stages.back().to;
}

scenario read_scenario(std::string_view text, const fs::path& folder)
{
    constexpr std::string_view known[] = {"name", "about", "data", "progress", "steps", "stages", "fail_if"};
    boost::system::error_code error;
    const auto value = json::parse(json::string_view(text.data(), text.size()), error);
    if (error) refuse_scenario("not valid JSON (" + error.message() + ")");
    if (!value.is_object()) refuse_scenario("not a JSON object");
    const auto& of = value.get_object();
    check_members(of, known, "the scenario");
    scenario all;
    all.name = text_of(of, "name", "the scenario");
    all.progress = flag_of(of, "progress", "the scenario");
    if (const auto data = text_of(of, "data", "the scenario"); !data.empty()) all.rows = read_rows(folder / data);
    all.fail_if = texts_of(of, "fail_if");
    const auto* steps = member(of, "steps");
    if (steps == nullptr || !steps->is_array() || steps->get_array().empty())
        refuse_scenario("\"steps\" is not a list of steps");
    for (const auto& each : steps->get_array()) all.steps.push_back(read_step(each, all.steps.size() + 1));
    for (auto each = all.steps.begin(); each != all.steps.end(); ++each)
        if (std::any_of(all.steps.begin(), each,
                        [&](const auto& before) { return before.what.name == each->what.name; }))
            refuse_scenario("two steps are called " + each->what.name + "; give one a \"name\"");
    if (const auto* stages = member(of, "stages")) {
        if (!stages->is_array()) refuse_scenario("\"stages\" is not a list");
        for (const auto& each : stages->get_array()) all.stages.push_back(read_stage(each, all.stages.size() + 1));
    }
    return all;
}

std::vector<std::string> ready_scenarios()
{
    std::vector<std::string> names;
    for (const auto& [name, text] : ready) names.emplace_back(name);
    return names;
}

scenario find_scenario(const std::string& name)
{
    for (const auto& [known, text] : ready)
        if (known == name) return read_scenario(text, {});
    std::ifstream file(name);
    if (!file) {
        std::string names;
        for (const auto& each : ready_scenarios()) names += (names.empty() ? "" : ", ") + each;
        throw std::invalid_argument("--scenario " + name + ": no such file, and the ready scenarios are " + names);
    }
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    return read_scenario(text, fs::path(name).parent_path());
}

void scenario_way::begin(json::object variables)
{
    variables_ = std::move(variables);
    step_ = made_ = 0;
    skips_ = has_failed_ = is_cut_ = false;
    skip();
}

std::optional<std::size_t> scenario_way::step() const
{
    return step_ < of_.steps.size() ? std::optional(step_) : std::nullopt;
}

std::string scenario_way::arguments() const { return json::serialize(filled(of_.steps[step_].arguments, variables_)); }

std::string scenario_way::headers() const
{
    std::string all;
    for (const auto& [name, value] : of_.steps[step_].headers) {
        const auto text = filled(value, variables_);
        std::string line = text.is_string() ? std::string(text.get_string()) : json::serialize(text);
        std::erase_if(line, [](char each) { return each == '\r' || each == '\n'; });
        all.append(name.data(), name.size()).append(": ").append(line).append("\r\n");
    }
    return all;
}

std::string scenario_way::take(std::string_view answer)
{
    const auto& step = of_.steps[step_];
    if (!step.expect.empty() && answer.find(step.expect) == std::string_view::npos) return "another answer";
    if (step.capture.empty()) return {};
    const auto result = structured_result(answer);
    for (const auto& [variable, path] : step.capture) {
        const auto* value = member_at(result, path);
        if (value == nullptr) return "no " + path + " in the answer";
        variables_[variable] = *value;
    }
    return {};
}

void scenario_way::done(bool succeeded)
{
    has_failed_ = has_failed_ || !succeeded;
    skips_ = skips_ || !succeeded;
    if (!succeeded || ++made_ == of_.steps[step_].repeat) {
        ++step_;
        made_ = 0;
    }
    skip();
}

// What was begun is finished, and what is always done stays to be done.
void scenario_way::wind_up()
{
    const auto before = step_;
    skips_ = true;
    if (made_ != 0 && step_ < of_.steps.size()) {
        ++step_;
        made_ = 0;
        is_cut_ = true;
    }
    skip();
    is_cut_ = is_cut_ || step_ != before;
}

bool scenario_way::can_fill() const
{
    try {
        arguments();
        return true;
    } catch (const std::invalid_argument&) {
        return false;
    }
}

void scenario_way::skip()
{
    while (skips_ && step_ < of_.steps.size() && (!of_.steps[step_].always || !can_fill())) {
        ++step_;
        made_ = 0;
    }
}

}  // namespace cmcp::load
