#include "metrics/registry.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace cmcp::metrics {

namespace {

void append_number(std::string& out, double value)
{
    std::array<char, 400> text{};  // room for any double without an exponent
    auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed).ptr;
    out.append(text.data(), end);
}

void append_escaped(std::string& out, std::string_view value)
{
    for (char c : value) {
        if (c == '\n')
            out += "\\n";
        else if (c == '"' || c == '\\')
            (out += '\\') += c;
        else
            out += c;
    }
}

// `key` holds the values, each with a NUL behind it. `bound`: the further label `le`.
std::string label_text(const std::vector<std::string>& names, std::string_view key, std::string_view bound = {})
{
    std::string text;
    for (const auto& name : names) {
        auto end = key.find('\0');
        text.append(text.empty() ? "" : ",").append(name).append("=\"");
        append_escaped(text, key.substr(0, end));
        text += '"';
        key.remove_prefix(end == std::string_view::npos ? key.size() : end + 1);
    }
    if (!bound.empty()) text.append(text.empty() ? "" : ",").append("le=\"").append(bound).append("\"");
    return text.empty() ? text : "{" + text + "}";
}

void append_line(std::string& out, std::string_view name, std::string_view labels, double value)
{
    out.append(name).append(labels).append(" ");
    append_number(out, value);
    out += '\n';
}

void append_members(std::string& out, const std::string& name, const family<histogram>& from)
{
    for (const auto& [key, member] : from.members()) {
        std::uint64_t below = 0;
        for (std::size_t i = 0; i < member.buckets().size(); ++i) {
            below += member.buckets()[i];
            std::string bound = "+Inf";
            if (i < histogram::bounds().size()) append_number(bound = "", histogram::bounds()[i]);
            append_line(out, name + "_bucket", label_text(from.labels(), key, bound), static_cast<double>(below));
        }
        append_line(out, name + "_sum", label_text(from.labels(), key), member.sum());
        append_line(out, name + "_count", label_text(from.labels(), key), static_cast<double>(member.count()));
    }
}

template <class Metric>
void append_members(std::string& out, const std::string& name, const family<Metric>& from)
{
    for (const auto& [key, member] : from.members())
        append_line(out, name, label_text(from.labels(), key), member.value());
}

}  // namespace

const std::vector<double>& histogram::bounds()
{
    static const std::vector<double> limits{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                            0.25,   0.5,     1,      2.5,   5,      10,    30,   60,    300};
    return limits;
}

void histogram::observe(double seconds)
{
    auto bucket = std::lower_bound(bounds().begin(), bounds().end(), seconds) - bounds().begin();
    ++buckets_[static_cast<std::size_t>(bucket)];
    ++count_;
    sum_ += seconds;
}

template <class Metric>
family<Metric>& registry::find(std::deque<family<Metric>>& kept, family<Metric>* entry::*member, std::string_view name,
                               std::string_view help, std::string_view type, std::initializer_list<const char*> labels)
{
    for (auto& each : entries_)
        if (each.name == name && each.*member != nullptr) return *(each.*member);
    kept.emplace_back(std::vector<std::string>(labels.begin(), labels.end()));
    entry added{.name = std::string(name), .help = std::string(help), .type = std::string(type)};
    added.*member = &kept.back();
    entries_.push_back(std::move(added));
    return kept.back();
}

family<counter>& registry::counters(std::string_view name, std::string_view help,
                                    std::initializer_list<const char*> labels)
{
    return find(counters_, &entry::counters, name, help, "counter", labels);
}

family<gauge>& registry::gauges(std::string_view name, std::string_view help, std::initializer_list<const char*> labels)
{
    return find(gauges_, &entry::gauges, name, help, "gauge", labels);
}

family<histogram>& registry::histograms(std::string_view name, std::string_view help,
                                        std::initializer_list<const char*> labels)
{
    return find(histograms_, &entry::histograms, name, help, "histogram", labels);
}

void registry::observe(const void* owner, std::string_view name, std::string_view help, std::function<double()> read)
{
    auto type = name.ends_with("_total") ? "counter" : "gauge";
    std::erase_if(entries_, [&](const auto& each) { return each.read && each.name == name; });
    entries_.push_back(
        {.name = std::string(name), .help = std::string(help), .type = type, .owner = owner, .read = std::move(read)});
}

void registry::remove(const void* owner)
{
    std::erase_if(entries_, [&](const auto& each) { return each.read && each.owner == owner; });
}

std::string registry::text(std::string_view left_out) const
{
    std::string out;
    for (const auto& each : entries_) {
        if (!left_out.empty() && each.name.starts_with(left_out)) continue;
        out.append("# HELP ").append(each.name).append(" ").append(each.help).append("\n");
        out.append("# TYPE ").append(each.name).append(" ").append(each.type).append("\n");
        if (each.counters != nullptr) append_members(out, each.name, *each.counters);
        if (each.gauges != nullptr) append_members(out, each.name, *each.gauges);
        if (each.histograms != nullptr) append_members(out, each.name, *each.histograms);
        if (each.read) append_line(out, each.name, {}, each.read());
    }
    return out;
}

registry& all()
{
    static registry instance;
    return instance;
}

}  // namespace cmcp::metrics
