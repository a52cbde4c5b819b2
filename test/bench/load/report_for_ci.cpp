#include "load/report_for_ci.hpp"

#include "load/report.hpp"

namespace cmcp::load {

namespace {

// Control characters have no place in XML 1.0, not even escaped.
std::string xml_text(const std::string& text)
{
    std::string escaped;
    for (const char each : text) {
        if (each == '<')
            escaped += "&lt;";
        else if (each == '>')
            escaped += "&gt;";
        else if (each == '&')
            escaped += "&amp;";
        else if (each == '"')
            escaped += "&quot;";
        else
            escaped += static_cast<unsigned char>(each) < ' ' ? ' ' : each;
    }
    return escaped;
}

std::string cell(const std::string& text)
{
    std::string escaped;
    for (const char each : text)
        escaped += each == '|' ? std::string("\\|") : std::string(1, each == '\n' ? ' ' : each);
    return escaped;
}

std::string title(const load_options& options)
{
    return options.scenario ? "scenario " + options.scenario->name : "load of " + options.target();
}

void add_case(std::string& to, const std::string& group, const std::string& name, bool failed, const std::string& text)
{
    to += "    <testcase classname=\"" + group + "\" name=\"" + xml_text(name) + "\"";
    to += failed ? "><failure message=\"" + xml_text(text) + "\"/></testcase>\n" : "/>\n";
}

void add_row(std::string& to, const std::string& name, const call_figures& calls)
{
    to += "| " + cell(name) + " | " + std::to_string(calls.succeeded) + " | " + std::to_string(calls.failed());
    for (const double percent : {50.0, 95.0, 99.0, 100.0})
        to += " | " + (calls.latency.count() == 0 ? "" : duration_text(calls.latency.percentile(percent)));
    to += " |\n";
}

}  // namespace

std::string report_junit(const load_options& options, const load_result& result, const std::vector<verdict>& verdicts,
                         const std::vector<comparison>& compared)
{
    std::size_t failed = 0;
    std::string cases;
    for (const auto& each : verdicts) {
        failed += each.failed;
        add_case(cases, "load", "not " + each.expression, each.failed, each.value);
    }
    for (const auto& each : compared) {
        const bool is_worse = each.is == comparison::outcome::worse;
        failed += is_worse;
        add_case(cases, "compare", each.figure, is_worse, words_of(each));
    }
    return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"" + xml_text(title(options)) +
           "\" tests=\"" + std::to_string(verdicts.size() + compared.size()) + "\" failures=\"" +
           std::to_string(failed) + "\" time=\"" + fixed(result.seconds, 3) + "\">\n" + cases +
           "  </testsuite>\n</testsuites>\n";
}

std::string report_markdown(const load_options& options, const load_result& result,
                            const std::vector<verdict>& verdicts, const std::vector<comparison>& compared)
{
    const summary figures(options, result);
    std::string text = "### " + cell(title(options)) + "\n\n" + fixed(figures.calls_per_second, 1) + " calls/s for " +
                       fixed(result.seconds, 1) + " s by " + std::to_string(options.sessions) + " sessions\n\n" +
                       "| call | succeeded | failed | p50 | p95 | p99 | max |\n|---|---:|---:|---:|---:|---:|---:|\n";
    for (std::size_t i = 0; i != options.calls.size(); ++i)
        add_row(text, options.calls[i].name, result.record.calls[i]);
    if (options.scenario) add_row(text, "iteration", result.iterations);
    text += "\n";
    for (const auto& each : verdicts)
        text +=
            std::string("- ") + (each.failed ? "✗ " : "✓ ") + each.value + " (fails if `" + each.expression + "`)\n";
    for (const auto& each : compared)
        text += std::string("- ") + (each.is == comparison::outcome::worse ? "✗ " : "✓ ") + words_of(each) + "\n";
    return text;
}

}  // namespace cmcp::load
