#include "wire/launcher_options.hpp"

#include "text/number.hpp"

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <type_traits>

namespace cmcp::sandbox {
namespace {

using words = std::vector<std::string>;

/// Writes options as words.
class word_writer {
public:
    explicit word_writer(words& to) : to_(to) {}

    void operator()(std::string_view name, const std::string& text) { add(name, text); }
    template <class Number>
    requires std::is_integral_v<Number>
    void operator()(std::string_view name, Number number) { add(name, std::to_string(number)); }
    void operator()(std::string_view name, const words& list)
    {
        for (const auto& each : list) add(name, each);
    }
    void operator()(std::string_view name, const std::vector<std::pair<std::string, std::string>>& list)
    {
        for (const auto& [key, value] : list) add(name, key + '=' + value);
    }

private:
    void add(std::string_view name, const std::string& value) { to_.push_back(std::string(name) + '=' + value); }

    words& to_;
};

/// Reads one word: the option that has its name takes its value.
class word_reader {
public:
    explicit word_reader(std::string_view word)
        : word_(word),
          name_(word.substr(0, word.find('='))),
          value_(word.substr(std::min(name_.size() + 1, word.size())))
    {
    }

    void operator()(std::string_view name, std::string& text)
    {
        if (is(name)) text = value_;
    }
    template <class Number>
    requires std::is_integral_v<Number>
    void operator()(std::string_view name, Number& number)
    {
        if (!is(name)) return;
        const auto read = read_number(value_);
        if (!read) fail();
        number = static_cast<Number>(*read);
    }
    void operator()(std::string_view name, words& list)
    {
        if (is(name)) list.emplace_back(value_);
    }
    void operator()(std::string_view name, std::vector<std::pair<std::string, std::string>>& list)
    {
        if (!is(name)) return;
        const auto equals = value_.find('=');
        if (equals == std::string_view::npos) fail();
        list.emplace_back(value_.substr(0, equals), value_.substr(equals + 1));
    }

    bool taken() const { return taken_; }
    [[noreturn]] void fail() const
    {
        throw std::invalid_argument("not an option of the launcher: " + std::string(word_));
    }

private:
    bool is(std::string_view name)
    {
        taken_ = taken_ || name == name_;
        return name == name_;
    }

    std::string_view word_, name_, value_;
    bool taken_ = false;
};

template <class Words, class Options>
void describe_launcher(Words& option, Options& of)
{
    option("--workspaces", of.workspaces);
    option("--images", of.images);
    option("--data", of.data);
    option("--firejail", of.firejail);
    option("--waiting", of.waiting);
    option("--cgroups", of.use_cgroups);
    option("--cells", of.cells);
    option("--most-memory", of.most.memory);
    option("--most-processes", of.most.processes);
    option("--most-file-size", of.most.file_size);
    option("--most-tmp-size", of.most.tmp_size);
    option("--most-open-files", of.most.open_files);
    option("--browser", of.browser.path);
    option("--browser-memory", of.browser.memory);
    option("--browser-without-sandbox", of.browser.may_lack_own_sandbox);
}

template <class Words, class Options>
void describe_zygote(Words& option, Options& of)
{
    option("--zygote", of.path);
    option("--zygote-profile", of.profile);
    option("--zygote-waiting", of.waiting);
    option("--zygote-runs", of.runs);
    option("--zygote-argument", of.argv);
    option("--zygote-variable", of.environment);
}

}  // namespace

words arguments_of(const launcher_options& options)
{
    words all;
    word_writer write(all);
    describe_launcher(write, options);
    if (options.zygote) describe_zygote(write, *options.zygote);
    return all;
}

launcher_options read_launcher_options(const words& arguments)
{
    launcher_options options;
    zygote_options zygote;
    for (const auto& word : arguments) {
        word_reader read(word);
        describe_launcher(read, options);
        describe_zygote(read, zygote);
        if (!read.taken()) read.fail();
    }
    if (!zygote.path.empty()) options.zygote = std::move(zygote);
    return options;
}

}  // namespace cmcp::sandbox
