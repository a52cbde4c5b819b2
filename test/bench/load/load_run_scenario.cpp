#include "load/load_run.hpp"

#include "text/random_id.hpp"

#include <stdexcept>

// How clients go through a scenario.
namespace cmcp::load {

json::object load_run::variables_of_next()
{
    const auto& rows = options.scenario->rows;
    json::object variables;
    if (!rows.empty()) variables = rows[iteration_ % rows.size()];
    variables["n"] = iteration_++;
    variables["uuid"] = random_id();
    return variables;
}

// Without a scenario a client makes one call.
void load_run::begin(client_session& which, std::size_t kind, clock::time_point due)
{
    const auto entry = ways_.find(&which);
    if (entry == ways_.end()) return which.call(kind, due);
    way_of_session& of = entry->second;
    of.way.begin(variables_of_next());
    of.due = due;
    of.on_its_way = true;
    ++result_.iterations.started;
    go_on(which);
}

failure load_run::answered(client_session& which, std::string_view text)
{
    const auto entry = ways_.find(&which);
    if (entry == ways_.end() || !entry->second.on_its_way) return {};
    auto why = entry->second.way.take(text);
    return why.empty() ? failure{} : failure{"not as the scenario expects", std::move(why)};
}

std::uint64_t load_run::wanted_output(const client_session& which) const
{
    const auto entry = ways_.find(&which);
    const auto step = entry == ways_.end() || !entry->second.on_its_way ? std::nullopt : entry->second.way.step();
    return step ? options.scenario->steps[*step].output_bytes : 0;
}

// The next call of the client's iteration. False: it is in none, or that has ended.
bool load_run::go_on(client_session& which)
{
    const auto entry = ways_.find(&which);
    if (entry == ways_.end() || !entry->second.on_its_way || phase_ == phase::over) return false;
    way_of_session& of = entry->second;
    if (of.called) of.way.done(which.succeeded());
    if (!issuing() && (result_.interrupted || calls_left())) of.way.wind_up();
    const auto step = of.way.step();
    of.called = step.has_value();
    if (!step) {
        end_iteration(of);
        return false;
    }
    operation what = options.calls[*step];
    try {
        what.arguments = of.way.arguments();
        what.headers = of.way.headers();
    } catch (const std::invalid_argument& missing) {
        result_.record.calls[*step].errors.add({"variable without a value", missing.what()});
        of.called = false;
        of.way.done(false);
        return go_on(which);
    }
    which.call(*step, what, clock::now());
    return true;
}

void load_run::end_iteration(way_of_session& of)
{
    of.on_its_way = false;
    if (!of.way.completed()) {
        result_.iterations.errors.add({of.way.failed() ? "a step failed" : "cut off by the end of the test", {}});
        return;
    }
    ++result_.iterations.succeeded;
    result_.iterations.latency.record((clock::now() - of.due).count());
}

}  // namespace cmcp::load
