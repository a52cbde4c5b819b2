#include "metrics/registry.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <type_traits>

namespace cmcp::metrics {

namespace {

constexpr std::size_t lines_in_part = 2000;
constexpr std::size_t lines_of_head = 3;

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

// `key` holds the values, each with a NUL behind it. Without braces.
std::string label_text(const std::vector<std::string>& names, std::string_view key)
{
    std::string text;
    for (const auto& name : names) {
        auto end = key.find('\0');
        text.append(text.empty() ? "" : ",").append(name).append("=\"");
        append_escaped(text, key.substr(0, end));
        text += '"';
        key.remove_prefix(end == std::string_view::npos ? key.size() : end + 1);
    }
    return text;
}

std::string in_braces(const std::string& labels) { return labels.empty() ? labels : "{" + labels + "}"; }

// "0.005"
const std::vector<std::string>& bound_texts()
{
    static const auto texts = [] {
        std::vector<std::string> all;
        for (const double bound : histogram::bounds()) append_number(all.emplace_back(), bound);
        all.emplace_back("+Inf");
        return all;
    }();
    return texts;
}

void append_line(std::string& out, std::string_view name, std::string_view labels, double value)
{
    out.append(name).append(labels).append(" ");
    append_number(out, value);
    out += '\n';
}

void append_member(std::string& out, const std::string& name, const std::string& labels, const histogram& member)
{
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < member.buckets().size(); ++i) {
        below += member.buckets()[i];
        out.append(name).append("_bucket{").append(labels).append(labels.empty() ? "" : ",").append("le=\"");
        out.append(bound_texts()[i]).append("\"} ");
        append_number(out, static_cast<double>(below));
        out += '\n';
    }
    append_line(out, name + "_sum", in_braces(labels), member.sum());
    append_line(out, name + "_count", in_braces(labels), static_cast<double>(member.count()));
}

template <class Metric>
void append_member(std::string& out, const std::string& name, const std::string& labels, const Metric& member)
{
    append_line(out, name, in_braces(labels), member.value());
}

// Behind the member `last`, which moves on. False: there are more.
template <class Metric>
bool append_family(std::string& out, const std::string& name, const family<Metric>& from, std::string& last,
                   std::size_t& room)
{
    constexpr std::size_t lines = std::is_same_v<Metric, histogram> ? 20 : 1;
    // No key is empty but that of the only member of a family without labels.
    auto next = last.empty() ? from.members().begin() : from.members().upper_bound(last);
    for (; next != from.members().end(); ++next) {
        if (room < lines) return false;
        room -= lines;
        append_member(out, name, label_text(from.labels(), next->first), next->second);
        last = next->first;
    }
    return true;
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
family<Metric>& registry::find(std::deque<family<Metric>>& families, family<Metric>* entry::*member,
                               std::string_view name, std::string_view help, std::string_view type,
                               std::initializer_list<const char*> labels)
{
    for (auto& each : entries_)
        if (each.name == name && each.*member != nullptr) return *(each.*member);
    families.emplace_back(std::vector<std::string>(labels.begin(), labels.end()));
    entry added{.name = std::string(name), .help = std::string(help), .type = std::string(type)};
    added.*member = &families.back();
    entries_.push_back(std::move(added));
    return families.back();
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
    cursor at;
    while (append_part(out, at, left_out)) {
    }
    return out;
}

bool registry::append_members(std::string& out, const entry& from, std::string& last, std::size_t& room)
{
    if (from.counters != nullptr) return append_family(out, from.name, *from.counters, last, room);
    if (from.gauges != nullptr) return append_family(out, from.name, *from.gauges, last, room);
    if (from.histograms != nullptr) return append_family(out, from.name, *from.histograms, last, room);
    if (from.read) append_line(out, from.name, {}, from.read());
    return true;
}

bool registry::append_part(std::string& out, cursor& at, std::string_view left_out) const
{
    // An entry that went meanwhile moves the others; the one that has begun ends as it is then.
    if (!at.name.empty() && (at.entry >= entries_.size() || entries_[at.entry].name != at.name)) at.name.clear();
    for (std::size_t room = lines_in_part; at.entry < entries_.size(); ++at.entry, at.name.clear()) {
        const auto& each = entries_[at.entry];
        if (!left_out.empty() && each.name.starts_with(left_out)) continue;
        if (room < lines_of_head) return true;
        if (at.name.empty()) {
            room -= lines_of_head;
            out.append("# HELP ").append(each.name).append(" ").append(each.help).append("\n");
            out.append("# TYPE ").append(each.name).append(" ").append(each.type).append("\n");
            at.name = each.name;
            at.member.clear();
        }
        if (!append_members(out, each, at.member, room)) return true;
    }
    return false;
}

registry& all()
{
    static registry instance;
    return instance;
}

}  // namespace cmcp::metrics
