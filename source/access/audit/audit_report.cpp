#include "audit/audit_report.hpp"

#include "audit/audit_error.hpp"
#include "audit/audit_files.hpp"
#include "jsonrpc/read_object.hpp"
#include "posix/bytes.hpp"
#include "text/ascii.hpp"
#include "text/encodings.hpp"
#include "text/number.hpp"

#include <algorithm>
#include <map>
#include <system_error>
#include <utility>

#include <fcntl.h>

namespace cmcp::audit {

namespace {

namespace fs = std::filesystem;
using broken_record = audit_report::broken_record;

std::string name_in(const fs::path& file) { return file.filename().string(); }

/// The file `head`, as it was before the others were read.
struct head_file {
    std::string text;
    std::string line;
    chain_position position;
};

constexpr std::size_t longest_head_file = 8192;

std::optional<head_file> read_head(const fs::path& folder)
{
    const unique_fd file(::open((folder / head_name).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    auto text = file ? read_at(file.get(), 0, longest_head_file) : std::nullopt;
    if (!text) return std::nullopt;
    const auto line = text->substr(0, text->find_last_not_of(" \n") + 1);
    return head_file{std::move(*text), line, position_in(line)};
}

bool is_whole(const head_file& head)
{
    auto written = head.line;
    written.resize(std::max(written.size(), head_size - 1), ' ');
    return head.text == written + "\n" && is_signed_head(head.line);
}

class whole_check {
public:
    whole_check(fs::path folder, report_options wanted) : folder_(std::move(folder)), wanted_(std::move(wanted))
    {
        for (const auto& each : wanted_.heads) published_.emplace(each.position.number, &each);
    }

    audit_report run()
    {
        const auto head = read_head(folder_);
        if (head) head_ = head->position;
        const auto files = files_in(folder_);
        if (files.empty()) throw audit_error("there is no audit in " + folder_.string());
        for (const auto& each : files)
            if (!report_.bad) follow(each, &each == &files.back());
        fill();
        if (!report_.bad) look_at_beginning(name_in(files.front().path));
        if (!report_.bad) look_at_head(head);
        if (!report_.bad) look_at_published();
        return std::move(report_);
    }

private:
    void fail(std::string file, chain_fault fault) { report_.bad = broken_record{std::move(file), std::move(fault)}; }

    void follow(const audit_file& file, bool is_last)
    {
        ++report_.files;
        check_.begin_file(file.first);
        line_reader lines(file.path);
        while (const auto line = lines.next()) {
            if (auto fault = check_.take(*line)) return fail(name_in(file.path), std::move(*fault));
            if (check_.doubtful_text().empty()) count();
        }
        if (auto fault = check_.end_file(lines.rest(), is_last)) fail(name_in(file.path), std::move(*fault));
    }

    void count()
    {
        const auto& record = check_.record();
        const auto is = view_of(record, "kind");
        if (is == name_of(kind::head)) report_.sealed_at = view_of(record, "at");
        if (is == name_of(kind::start)) ++report_.starts;
        if (is == name_of(kind::stop)) ++report_.stops;
        if (is == name_of(kind::dropped)) report_.dropped += static_cast<std::uint64_t>(number_of(record, "records"));
        const auto [begin, end] = published_.equal_range(check_.last().number);
        for (auto each = begin; each != end; ++each) {
            if (each->second->position == check_.last())
                ++report_.published;
            else if (wrong_head_ == nullptr)
                wrong_head_ = each->second;
        }
        const auto& last = check_.last();
        if (head_ && last.number == head_->number) head_fits_ = last == *head_;
    }

    void fill()
    {
        report_.first = check_.first_number();
        report_.last = check_.last();
        report_.sealed = check_.sealed();
        report_.first_key = check_.first_key();
        report_.key = check_.key();
        report_.torn_lines = check_.torn_lines();
        report_.torn_bytes = check_.torn_bytes();
    }

    // The files that were removed have left the heads in which each key names the next one.
    void look_at_beginning(const std::string& first_file)
    {
        std::string named_key, key_of_first;
        chain_position before, before_first;
        std::error_code absent;
        if (fs::exists(folder_ / retired_name, absent)) {
            line_reader lines(folder_ / retired_name);
            while (const auto line = lines.next()) {
                if (!take_retired(*line, named_key, before)) return;
                // The head of a file is written before the file is removed, so some may be of files that are there.
                if (before.number >= report_.first) continue;
                before_first = before;
                key_of_first = named_key;
            }
            if (!lines.rest().empty()) return fail(retired_name, {report_.retired + 1, "the line is cut off"});
        }
        if (before_first.number + 1 != report_.first || before_first.digest != check_.begins_behind())
            return fail(first_file, {1, "what came before record " + std::to_string(report_.first) + " is missing"});
        if (!key_of_first.empty() && key_of_first != check_.first_key())
            return fail(first_file, {1, "its key is not the one that the file before hands over to"});
        if (report_.retired == 0) oldest_key_ = check_.first_key();
        report_.first_key = oldest_key_;
        if (!wanted_.first_key.empty() && wanted_.first_key != oldest_key_)
            fail(first_file, {1, "the audit begins by the key " + oldest_key_ + ", and not by the one that you name"});
    }

    bool take_retired(std::string_view line, std::string& named_key, chain_position& before)
    {
        ++report_.retired;
        const auto record = jsonrpc::read_object(line, 8);
        const auto key = view_of(record, "key");
        const auto position = position_in(line);
        const bool fits =
            is_signed_head(line) && (named_key.empty() || named_key == key) && position.number > before.number;
        if (!fits) fail(retired_name, {report_.retired, "it is not the head that hands over to the next file"});
        if (report_.retired == 1) oldest_key_ = key;
        named_key = view_of(record, "next_key");
        before = position;
        return fits;
    }

    // The head was read before the records, so they go at least as far.
    void look_at_head(const std::optional<head_file>& head)
    {
        if (!head && check_.sealed().number == 0) return;
        if (!head) return fail(head_name, {0, "the file is not there, or cannot be read"});
        if (!is_whole(*head)) return fail(head_name, {1, "it is no signed head"});
        if (head->position.number > check_.last().number)
            return fail(head_name,
                        {1, "it tells of record " + std::to_string(head->position.number) + ", and the last one is " +
                                std::to_string(check_.last().number) + ": records are missing at the end"});
        if (!head_fits_) fail(head_name, {1, "it is the head of other records"});
    }

    void look_at_published()
    {
        if (wrong_head_ != nullptr)
            return fail(wrong_head_->where,
                        {0, "this head was published, and record " + std::to_string(wrong_head_->position.number) +
                                " is another one now"});
        for (const auto& each : wanted_.heads) {
            if (each.position.number < report_.first) ++report_.not_checked;
            if (each.position.number > report_.last.number)
                return fail(each.where, {0, "this head was published, and the audit ends at record " +
                                                std::to_string(report_.last.number)});
        }
    }

    fs::path folder_;
    report_options wanted_;
    std::multimap<std::uint64_t, const published_head*> published_;
    const published_head* wrong_head_ = nullptr;
    chain_check check_;
    audit_report report_;
    std::string oldest_key_;
    std::optional<chain_position> head_;
    bool head_fits_ = false;
};

}  // namespace

// A check that meets a server which removes its oldest file reads pieces that do not fit together, and begins again.
audit_report check_audit(const fs::path& folder, report_options wanted)
{
    constexpr int most_tries = 10;
    const auto oldest = [&folder] {
        const auto files = files_in(folder);
        return files.empty() ? 0 : files.front().first;
    };
    for (int tries = 1;; ++tries) {
        const auto before = oldest();
        const auto may_repeat = [&] { return tries < most_tries && oldest() != before; };
        try {
            auto report = whole_check(folder, wanted).run();
            if (!report.bad || !may_repeat()) return report;
        } catch (const audit_error&) {
            if (!may_repeat()) throw;
        }
    }
}

std::vector<published_head> heads_in(const fs::path& file)
{
    std::vector<published_head> all;
    line_reader lines(file);
    std::uint64_t number = 0;
    const auto add = [&](std::string_view line) {
        ++number;
        for (auto colon = line.find(':'); colon != std::string_view::npos; colon = line.find(':', colon + 1)) {
            const auto digest = line.substr(colon + 1, digest_length);
            auto begin = colon;
            while (begin > 0 && all_digits(line.substr(begin - 1, 1))) --begin;
            const auto count = read_number(line.substr(begin, colon - begin));
            if (count && is_sha256_hex(digest))
                all.push_back(
                    {{*count, std::string(digest)}, file.filename().string() + ", line " + std::to_string(number)});
        }
    };
    while (const auto line = lines.next()) add(*line);
    add(lines.rest());
    return all;
}

}  // namespace cmcp::audit
