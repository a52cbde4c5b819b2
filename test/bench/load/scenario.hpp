#pragma once

#include "jsonrpc/json.hpp"
#include "load/operation.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmcp::load {

/// One call of a scenario.
struct scenario_step {
    operation what;                              ///< its arguments are those before variables are filled in
    json::object arguments;                      ///< texts have variables as {{name}}
    json::object headers;                        ///< the same, of a stateless call's HTTP request
    std::map<std::string, std::string> capture;  ///< variable -> members of the structured result, with dots between
    std::string expect;                          ///< a text that the answer must hold; empty: any will do
    std::uint64_t output_bytes = 0;              ///< that must be streamed; 0: any number
    std::size_t repeat = 1;
    bool always = false;  ///< made, too, after a step before has failed, where its variables are known
};

/// A time of an open loop, whose rate goes evenly from one value to the other.
struct load_stage {
    std::chrono::milliseconds time{0};
    double from = 0, to = 0;  ///< iterations a second
};

/// What a client does over and over: steps that use what earlier ones answered.
struct scenario {
    std::string name;
    std::vector<scenario_step> steps;
    std::vector<json::object> rows;  ///< of the data file: variables of an iteration, taken in turn
    std::vector<load_stage> stages;  ///< none: the rate of the command line
    std::vector<std::string> fail_if;
    bool progress = false;

    std::chrono::milliseconds duration() const;      ///< of all stages
    double rate_at(std::chrono::nanoseconds) const;  ///< since the first one began
};

/// `text` is a scenario as docs/load-testing.md has it; a data file is looked for below `folder`. Throws
/// std::invalid_argument with a sentence.
scenario read_scenario(std::string_view text, const std::filesystem::path& folder);

/// A file, or the name of a ready scenario. Throws std::invalid_argument.
scenario find_scenario(const std::string& name);
std::vector<std::string> ready_scenarios();  ///< names

/// The way of one client through the scenario, iteration by iteration.
class scenario_way {
public:
    /// The scenario must outlive this.
    explicit scenario_way(const scenario& of) : of_(of) {}

    void begin(json::object variables);       ///< an iteration
    std::optional<std::size_t> step() const;  ///< the one to be made now; nothing: the iteration is over

    /// Of the present step. Throws std::invalid_argument where a variable has no value.
    std::string arguments() const;
    std::string headers() const;  ///< as operation has them

    /// The answer to the present step. The return says why it will not do; empty: it does.
    std::string take(std::string_view answer);

    void done(bool succeeded);  ///< the present step
    void wind_up();             ///< only steps that are always made are left
    bool failed() const { return has_failed_; }
    bool completed() const { return !has_failed_ && !is_cut_; }  ///< all of its steps were made

private:
    bool can_fill() const;
    void skip();

    const scenario& of_;
    json::object variables_;
    std::size_t step_ = static_cast<std::size_t>(-1), made_ = 0;
    bool skips_ = false, has_failed_ = false, is_cut_ = false;
};

}  // namespace cmcp::load
