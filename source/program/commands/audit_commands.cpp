#include "audit/audit_error.hpp"
#include "audit/audit_files.hpp"
#include "audit/audit_report.hpp"
#include "audit/record_text.hpp"
#include "audit/sink.hpp"
#include "commands/commands.hpp"
#include "config/config_error.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "server/audit_start.hpp"
#include "text/number.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace cmcp::command {

namespace {

// A choice among records, by the words of a person.
class audit_choice {
public:
    /// Throws config_error with a sentence.
    explicit audit_choice(const audit_line& line);

    /// `record` is a line of the audit without its newline.
    bool takes(std::string_view record) const;

    /// Whether a file whose next file begins at this time can hold records of the choice.
    bool may_be_before(std::string_view time) const { return since_.empty() || time >= since_; }

private:
    std::string since_, until_;  // as times of records begin; empty: any
    std::string principal_, kind_;
    bool any_principal_, any_kind_;
};

constexpr std::string_view form_of_time = "0000-00-00T00:00:00";
constexpr std::array<std::size_t, 3> whole_parts{10, 16, 19};  // a day, a minute, a second

bool has_form(std::string_view text)
{
    const auto fits = [](char c, char form) { return form == '0' ? c >= '0' && c <= '9' : c == form; };
    return std::find(whole_parts.begin(), whole_parts.end(), text.size()) != whole_parts.end() &&
           std::equal(text.begin(), text.end(), form_of_time.begin(), fits);
}

std::optional<std::chrono::seconds> time_ago(std::string_view text)
{
    constexpr std::string_view letters = "mhd";
    constexpr std::array<int, 3> seconds{60, 3600, 86400};
    const auto unit = text.empty() ? std::string_view::npos : letters.find(text.back());
    const auto count =
        unit == std::string_view::npos ? std::nullopt : read_number<std::uint32_t>(text.substr(0, text.size() - 1));
    if (!count) return std::nullopt;
    return std::chrono::seconds(std::int64_t{*count} * seconds[unit]);
}

void check_kind(const std::string& name)
{
    std::string known;
    for (auto is = audit::kind::call; is <= audit::kind::removed;
         is = static_cast<audit::kind>(static_cast<int>(is) + 1)) {
        if (name == audit::name_of(is)) return;
        known.append(known.empty() ? "" : ", ").append(audit::name_of(is));
    }
    throw config_error("--kind " + name + " is no kind of records; they are " + known);
}

// A time as those of records begin: "2026-11-24", "2026-11-24T10:30", "2026-11-24T10:30:00Z" in UTC, or so long ago:
// "90m", "12h", "7d". Throws config_error.
std::string audit_time(std::string_view text)
{
    if (text.empty()) return {};
    if (const auto ago = time_ago(text)) {
        std::string time;
        audit::append_time(time, std::chrono::system_clock::now() - *ago);
        return time;
    }
    const auto plain = text.ends_with('Z') ? text.substr(0, text.size() - 1) : text;
    if (!has_form(plain))
        throw config_error("\"" + std::string(text) +
                           "\" is no time; 2026-11-24, 2026-11-24T10:30Z and 12h (so long ago) are some");
    return std::string(plain);
}

audit_choice::audit_choice(const audit_line& line)
    : since_(audit_time(line.since)),
      until_(audit_time(line.until)),
      principal_(line.principal),
      kind_(line.kind),
      any_principal_(line.principal.empty()),
      any_kind_(line.kind.empty())
{
    if (!any_kind_) check_kind(kind_);
}

bool audit_choice::takes(std::string_view record) const
{
    if (since_.empty() && until_.empty() && any_principal_ && any_kind_) return true;
    const auto parsed = jsonrpc::read_object(record, 8);
    const auto at = view_of(parsed, "at");
    if (!since_.empty() && at < since_) return false;
    if (!until_.empty() && at >= until_) return false;
    return (any_principal_ || view_of(parsed, "principal") == principal_) &&
           (any_kind_ || view_of(parsed, "kind") == kind_);
}

using audit::audit_report;

constexpr std::chrono::milliseconds between_looks(200);

json::object report_json(const audit_report& report)
{
    json::object row{{"whole", !report.bad},
                     {"files", report.files},
                     {"first", report.first},
                     {"last", report.last.number},
                     {"sealed", report.sealed.number},
                     {"sealed_at", report.sealed_at},
                     {"head", report.sealed.text()},
                     {"first_key", report.first_key},
                     {"key", report.key},
                     {"starts", report.starts},
                     {"stops", report.stops},
                     {"torn_lines", report.torn_lines},
                     {"torn_bytes", report.torn_bytes},
                     {"dropped", report.dropped},
                     {"removed_files", report.retired},
                     {"published_heads", report.published},
                     {"heads_not_checked", report.not_checked}};
    row["bad"] = nullptr;
    if (report.bad)
        row["bad"] = {
            {"file", report.bad->file}, {"line", report.bad->fault.line}, {"what", report.bad->fault.problem}};
    return row;
}

void tell_remarks(const audit_report& report)
{
    const auto tell = [](std::uint64_t count, const char* words) {
        if (count != 0) std::cout << "remark      " << count << ' ' << words << '\n';
    };
    tell(report.last.number - report.sealed.number,
         "records at the end are not signed yet: a server runs, or was killed");
    tell(report.torn_bytes, "bytes at the end are no record yet: a server runs, or was killed while it wrote");
    tell(report.torn_lines, "lines were cut off when a server was killed, and are noted");
    tell(report.dropped, "records could not be kept, and are counted (records of the kind dropped)");
    tell(report.retired, "files were removed, because they were the oldest (AUDIT_KEEP)");
    tell(report.not_checked, "heads are of records that were removed");
}

int tell_report(const audit_report& report, const std::filesystem::path& folder)
{
    if (report.bad) {
        std::cout << "The audit in " << folder.string() << " is not as the server wrote it.\n" << report.bad->file;
        if (report.bad->fault.line != 0) std::cout << ", line " << report.bad->fault.line;
        std::cout << ": " << report.bad->fault.problem << '\n';
        return 1;
    }
    std::cout << "The audit in " << folder.string() << " is whole.\n"
              << "records     " << report.first << " to " << report.last.number << " in " << report.files << " files\n"
              << "signed      up to record " << report.sealed.number << ", " << report.sealed_at << '\n'
              << "head        " << report.sealed.text() << '\n'
              << "first key   " << report.first_key << "  (compare it with the one of the server's first start)\n"
              << "servers     " << report.starts << " started, " << report.stops << " stopped in good order\n";
    if (report.published != 0) std::cout << "published   " << report.published << " heads are in it\n";
    tell_remarks(report);
    return 0;
}

int verify_audit(const std::filesystem::path& folder, const audit_line& line, bool json)
{
    audit::report_options wanted{line.key, {}};
    for (const auto& file : line.heads) {
        auto heads = audit::heads_in(file);
        if (heads.empty()) throw config_error(file + " holds no published head (<number>:<64 hexadecimal digits>)");
        wanted.heads.insert(wanted.heads.end(), heads.begin(), heads.end());
    }
    const auto report = check_audit(folder, std::move(wanted));
    if (!json) return tell_report(report, folder);
    std::cout << jsonrpc::write_json(report_json(report)) << '\n';
    return report.bad ? 1 : 0;
}

std::vector<audit::audit_file> files_or_throw(const std::filesystem::path& folder)
{
    auto files = audit::files_in(folder);
    if (files.empty()) throw audit::audit_error("there is no audit in " + folder.string());
    return files;
}

std::string time_of_first_record(const audit::audit_file& file)
{
    audit::line_reader lines(file.path);
    const auto line = lines.next();
    return line ? text_of(jsonrpc::read_object(*line, 8), "at") : std::string();
}

int export_audit(const std::filesystem::path& folder, const audit_choice& wanted)
{
    const auto files = files_or_throw(folder);
    for (auto file = files.begin(); file != files.end(); ++file) {
        if (file + 1 != files.end() && !wanted.may_be_before(time_of_first_record(file[1]))) continue;
        audit::line_reader lines(file->path);
        while (const auto line = lines.next())
            if (wanted.takes(*line)) std::cout << *line << '\n';
    }
    std::cout.flush();
    return std::cout ? 0 : 1;
}

// A record for people: its time and kind, and the other members as in the log.
std::string shown(std::string_view line)
{
    auto record = jsonrpc::read_object(line, 8);
    std::string text = text_of(record, "at");
    text.append(" ").append(view_of(record, "kind"));
    for (const char* left_out : {"n", "at", "kind", "chain", "signature", "arguments"}) record.erase(left_out);
    for (const auto& [name, value] : record) {
        text.append(" ").append(std::string_view(name)).append("=");
        const auto* word = value.if_string();
        const bool plain = word != nullptr && !word->empty() && word->find_first_of(" \"=\\") == json::string::npos;
        text.append(plain ? std::string(*word) : jsonrpc::write_json(value));
    }
    return log::escape_controls(text);
}

class tail_of_audit {
public:
    tail_of_audit(std::filesystem::path folder, const audit_line& line, bool json)
        : folder_(std::move(folder)), line_(line), choice_(line), json_(json)
    {
    }

    int run()
    {
        const auto files = files_or_throw(folder_);
        std::deque<std::string> last;
        // The latest records may lie in the file before.
        for (auto file = files.size() > 1 ? files.end() - 2 : files.begin(); file != files.end(); ++file) {
            open(*file);
            while (auto line = next())
                if (last.emplace_back(std::move(*line)); last.size() > line_.lines) last.pop_front();
        }
        for (const auto& line : last) print(line);
        while (line_.follow && std::cout.flush()) follow();
        return 0;
    }

private:
    void open(const audit::audit_file& file)
    {
        current_ = file;
        reader_.emplace(file.path);
    }

    std::optional<std::string> next()
    {
        while (const auto line = reader_->next())
            if (choice_.takes(*line)) return std::string(*line);
        return std::nullopt;
    }

    void follow()
    {
        while (const auto line = next()) print(*line);
        for (const auto& file : audit::files_in(folder_)) {
            if (file.first <= current_.first) continue;
            while (const auto line = next()) print(*line);
            return open(file);
        }
        std::cout.flush();
        std::this_thread::sleep_for(between_looks);
    }

    void print(const std::string& line) const { std::cout << (json_ ? line : shown(line)) << '\n'; }

    std::filesystem::path folder_;
    const audit_line& line_;
    audit_choice choice_;
    bool json_;
    audit::audit_file current_;
    std::optional<audit::line_reader> reader_;
};

}  // namespace

int audits(const loaded_settings& loaded, const audit_line& line, bool json)
try {
    const auto folder = line.folder.empty() ? audit_folder(loaded.values) : std::filesystem::path(line.folder);
    if (line.action == "verify") return verify_audit(folder, line, json);
    if (line.action == "export") return export_audit(folder, audit_choice(line));
    return tail_of_audit(folder, line, json).run();
} catch (const audit::audit_error& problem) {
    throw config_error(problem.what());
}

}  // namespace cmcp::command
