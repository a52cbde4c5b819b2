#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

/// Figures about this process for Prometheus (text format 0.0.4). Counting is a plain addition, because only the io
/// thread touches them; Debian's library takes a lock for each observation and brings a web server. Label values come
/// from fixed sets (methods, tools, statuses), never from what a peer sends.
namespace cmcp::metrics {

class counter {
public:
    void add(double amount = 1) { value_ += amount; }
    void set(double total) { value_ = total; }  ///< of a count that is made elsewhere
    double value() const { return value_; }

private:
    double value_ = 0;
};

class gauge {
public:
    void add(double amount) { value_ += amount; }
    void set(double value) { value_ = value; }
    double value() const { return value_; }

private:
    double value_ = 0;
};

/// Durations in seconds, from 100 µs to 5 minutes.
class histogram {
public:
    static const std::vector<double>& bounds();

    void observe(double seconds);
    std::uint64_t count() const { return count_; }
    double sum() const { return sum_; }
    const std::vector<std::uint64_t>& buckets() const { return buckets_; }  ///< not cumulated; the last is +Inf

private:
    std::vector<std::uint64_t> buckets_ = std::vector<std::uint64_t>(bounds().size() + 1);
    std::uint64_t count_ = 0;
    double sum_ = 0;
};

/// All members of one metric, by the values of its labels. References stay valid.
template <class Metric>
class family {
public:
    explicit family(std::vector<std::string> labels) : labels_(std::move(labels)) {}

    /// As many values as there are labels.
    Metric& at(std::initializer_list<std::string_view> values = {})
    {
        key_.clear();
        for (auto value : values) key_.append(value).push_back('\0');
        auto member = members_.find(key_);
        return member != members_.end() ? member->second : members_.emplace(key_, Metric()).first->second;
    }

    void clear() { members_.clear(); }  ///< ends all references

    const std::vector<std::string>& labels() const { return labels_; }
    const std::map<std::string, Metric>& members() const { return members_; }  ///< values, each followed by a NUL

private:
    std::vector<std::string> labels_;
    std::map<std::string, Metric> members_;
    std::string key_;
};

class registry {
public:
    /// The same family for the same name.
    family<counter>& counters(std::string_view name, std::string_view help,
                              std::initializer_list<const char*> labels = {});
    family<gauge>& gauges(std::string_view name, std::string_view help, std::initializer_list<const char*> labels = {});
    family<histogram>& histograms(std::string_view name, std::string_view help,
                                  std::initializer_list<const char*> labels = {});

    /// `read` is called by text(). remove() takes away the figures of `owner`.
    void observe(const void* owner, std::string_view name, std::string_view help, std::function<double()> read);
    void remove(const void* owner);

    /// All figures but those whose names begin so.
    std::string text(std::string_view left_out = {}) const;

    /// Where a text that is made in parts goes on.
    struct cursor {
        std::size_t entry = 0;
        std::string name{};    ///< of the entry; empty: it has not begun
        std::string member{};  ///< the last of it that is written
    };

    /// Appends a part of text() of a few hundred lines. False: it was the last one. Figures may come and go between
    /// parts.
    bool append_part(std::string& out, cursor& at, std::string_view left_out) const;

private:
    struct entry {
        std::string name, help, type;
        family<counter>* counters = nullptr;
        family<gauge>* gauges = nullptr;
        family<histogram>* histograms = nullptr;
        const void* owner = nullptr;
        std::function<double()> read = {};
    };
    static bool append_members(std::string& out, const entry& from, std::string& last, std::size_t& room);
    template <class Metric>
    family<Metric>& find(std::deque<family<Metric>>& families, family<Metric>* entry::*member, std::string_view name,
                         std::string_view help, std::string_view type, std::initializer_list<const char*> labels);

    std::vector<entry> entries_;
    std::deque<family<counter>> counters_;
    std::deque<family<gauge>> gauges_;
    std::deque<family<histogram>> histograms_;
};

/// The registry of this process.
registry& all();

/// The figures that every program has, under the names that dashboards expect (process_cpu_seconds_total, …).
void observe_process();

}  // namespace cmcp::metrics
