#include "sandboxes/language_trials.hpp"

#include "jsonrpc/read_object.hpp"
#include "log/log.hpp"
#include "sandbox/output_head.hpp"
#include "text/ascii.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>

#include <sys/stat.h>
#include <unistd.h>

namespace cmcp {

namespace {

std::string program_mark(const std::string& path)
{
    struct stat status {};
    std::error_code gone;
    const auto real = std::filesystem::canonical(path, gone).string();
    if (::stat(path.c_str(), &status) != 0) return path;
    return path + '=' + real + ':' + std::to_string(status.st_size) + ':' + std::to_string(status.st_mtim.tv_sec) +
           '.' + std::to_string(status.st_mtim.tv_nsec);
}

// A newer server may show more to a run, and another back end less.
std::string language_mark(const language& of, const std::string& server)
{
    std::string mark = server + ' ' + std::string(of.command) + ' ' + std::string(of.sample);
    for (const auto& program : installed_programs(of)) mark += ' ' + program_mark(program);
    return mark;
}

constexpr std::string_view says_need = " needs ";  // in a sentence that a command of the table prints

std::string sentence_about_need(const std::string& said)
{
    const auto at = said.find(says_need);
    if (at == std::string::npos) return {};
    const auto begin = said.rfind('\n', at) + 1;
    return said.substr(begin, std::min(said.find('\n', at), said.size()) - begin);
}

json::object read_trials(const std::filesystem::path& path)
{
    std::ifstream file(path, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    return jsonrpc::read_object(text);
}

constexpr std::string_view folders[] = {"/usr/local/bin/", "/usr/bin/", "/bin/"};

std::vector<std::string_view> words(std::string_view text)
{
    std::vector<std::string_view> all;
    while (!text.empty()) {
        const auto word = text.substr(0, text.find(' '));
        if (!word.empty()) all.push_back(word);
        text.remove_prefix(std::min(word.size() + 1, text.size()));
    }
    return all;
}

}  // namespace

language_trials::language_trials(parts used, const std::vector<language>& table)
    : used_(std::move(used)), table_(table), tasks_(used_.executor)
{
}

void language_trials::start() { tasks_.spawn("languages", run()); }

awaitable<> language_trials::stop()
{
    constexpr std::chrono::seconds limit{5};
    tasks_.cancel_all();
    co_await tasks_.wait_idle(limit);
}

awaitable<> language_trials::run()
{
    running_ = true;
    co_await read_file();
    auto look = [&table = table_, server = program_mark("/proc/self/exe") + ' ' + std::string(used_.backend.name())] {
        std::vector<std::pair<const language*, std::string>> installed;
        for (const auto& each : table)
            if (!installed_program(each).empty()) installed.emplace_back(&each, language_mark(each, server));
        return installed;
    };
    const auto installed = co_await used_.pool.run(blocking_pool::server, std::move(look));
    for (const auto& [of, mark] : installed) {
        const auto known = kept_.find(of->name);
        if (known != kept_.end() && known->second.mark == mark) results_[std::string(of->name)] = known->second;
    }
    const std::size_t known = results_.size();
    complete_ = known == installed.size();
    tell();
    if (complete_) co_return;
    for (const auto& [of, mark] : installed) {
        if (results_.contains(of->name)) continue;
        co_await try_language(*of, mark);
        tell();
    }
    complete_ = true;
    tell();
    log::info("languages", {{"tried", installed.size() - known}, {"found", json::string(sentence())}});
    co_await write_file();
}

awaitable<> language_trials::try_language(const language& of, std::string mark)
{
    bool sure = true;
    result outcome;
    const auto candidates = installed_programs(of);
    for (const auto& candidate : candidates) {
        const bool works = co_await runs(of, candidate, outcome, sure);
        if (!works) continue;
        outcome.program = candidate;
        outcome.needs.clear();
        break;
    }
    // A trial that was cut off says nothing about the next start.
    if (sure) outcome.mark = std::move(mark);
    results_[std::string(of.name)] = std::move(outcome);
}

// A trial that ends with the launcher is made again.
awaitable<bool> language_trials::runs(const language& of, std::string program, result& outcome, bool& sure)
{
    constexpr int most_tries = 3;
    const auto place = co_await used_.admission.enter("languages");
    sandbox::output_head output;
    sandbox::run_result end;
    for (int tries = 0; place && tries < most_tries && (tries == 0 || end.why == sandbox::cause::lost); ++tries) {
        auto request = used_.maker(of, program, std::string(of.sample));
        request.label = "try " + std::string(of.name);
        end = co_await used_.backend.run(std::move(request), output);
    }
    const bool whole = place && end.why == sandbox::cause::exited;
    const bool works = whole && end.exit_code == 0 && output.both().find("ok") != std::string::npos;
    if (!whole) sure = false;
    if (whole && !works && of.command.find(says_need) != std::string_view::npos)
        outcome.needs = sentence_about_need(output.both());
    if (!works)
        log::info("language_does_not_run", {{"language", json::string(of.name)},
                                            {"program", json::string(program)},
                                            {"said", json::string(output.both().substr(0, 300))}});
    co_return works;
}

awaitable<> language_trials::read_file()
{
    auto work = [path = used_.file] { return read_trials(path); };
    const auto trials = co_await used_.pool.run(blocking_pool::server, std::move(work));
    for (const auto& [name, value] : trials)
        if (const auto* trial = value.if_object())
            kept_[std::string(name)] = {text_of(*trial, "mark"), text_of(*trial, "program"), text_of(*trial, "needs")};
}

awaitable<> language_trials::write_file()
{
    json::object all;
    for (const auto& [name, of] : results_)
        if (!of.mark.empty()) all[name] = json::object{{"mark", of.mark}, {"program", of.program}, {"needs", of.needs}};
    auto work = [path = used_.file, text = json::serialize(all)] {
        const auto fresh = path.string() + ".new";
        std::ofstream file(fresh, std::ios::binary | std::ios::trunc);
        if (!(file << text).flush()) return false;
        std::error_code failure;
        std::filesystem::rename(fresh, path, failure);
        return !failure;
    };
    const bool stored = co_await used_.pool.run(blocking_pool::server, std::move(work));
    if (!stored) log::warning("languages_not_kept", {{"file", json::string(used_.file.string())}});
}

std::vector<std::string> language_trials::working() const
{
    std::vector<std::string> all;
    for (const auto& each : table_) {
        const auto known = results_.find(each.name);
        if (known != results_.end() && !known->second.program.empty()) all.emplace_back(each.name);
    }
    return all;
}

std::string language_trials::sentence() const
{
    std::string text;
    for (const auto& each : working()) text += (text.empty() ? "Languages here: " : ", ") + each;
    std::string needs;
    for (const auto& [name, of] : results_)
        if (!of.needs.empty()) needs += " " + of.needs;
    if (complete_) return (text.empty() ? "No language runs here." : text + ".") + needs;
    return text.empty() ? "Which languages run here is being tried." : text + "; others are being tried.";
}

std::string language_trials::program(const language& of) const
{
    const auto known = results_.find(of.name);
    return known != results_.end() && !known->second.program.empty() ? known->second.program : installed_program(of);
}

awaitable<> language_trials::wait_until_complete(event::clock::duration limit)
{
    const auto until = event::clock::now() + limit;
    while (running_ && !complete_ && event::clock::now() < until) co_await changed_.wait(until);
}

void language_trials::tell()
{
    changed_.notify();
    for (const auto& listener : listeners_) listener();
}

// NOLINTNEXTLINE(readability-function-size): a table
const std::vector<language>& all_languages()
{
    static const std::vector<language> table{
        {"python", "python3 py", "python3", "main.py", "", "print(\"ok\")"},
        {"bash", "shell", "bash", "main.bash", "exec $P --norc --noprofile $F", "echo ok"},
        {"sh", "posix", "sh", "main.sh", "exec $P $F", "echo ok"},
        {"javascript", "js node nodejs", "node nodejs", "main.js",
         "grep -Eq '^[[:space:]]*(import[[:space:]{*\"]|export[[:space:]{*])' $F && mv $F ${F%.js}.mjs && "
         "F=${F%.js}.mjs; exec $P $F",
         "console.log(\"ok\")"},
        {"typescript", "ts", "tsx ts-node deno bun node tsc", "main.ts",
         "case $P in */deno) exec $P run --allow-read --allow-write $F;; */node) case $($P --version) in "
         "v[0-9].*|v1[0-9].*|v2[01].*|v22.[0-5].*) echo \"TypeScript needs Node.js 22.6 or newer, tsx, ts-node, Deno, "
         "Bun "
         "or tsc; this machine has Node.js $($P --version).\" >&2; exit 1;; esac; exec $P --experimental-strip-types "
         "--no-warnings $F;; "
         "*/tsc) $P --target es2020 --module commonjs --noEmitOnError false --outDir $D $F || [ -s ${F%.ts}.js ] && "
         "exec node ${F%.ts}.js;; "
         "*) exec $P $F;; esac",
         "const text: string = \"ok\"; console.log(text)"},
        {"ruby", "rb", "ruby", "main.rb", "exec $P $F", "puts \"ok\""},
        {"perl", "pl", "perl", "main.pl", "exec $P $F", "print \"ok\";"},
        {"php", "", "php", "main.php",
         "head -c 5 $F | grep -q '<?' || { printf '<?php\\n'; cat $F; } > $F.tagged; [ -f $F.tagged ] && F=$F.tagged; "
         "exec $P $F",
         "echo \"ok\";"},
        {"lua", "", "lua lua5.4 lua5.3 lua5.1 luajit", "main.lua", "exec $P $F", "print(\"ok\")"},
        {"r", "rscript", "Rscript", "main.R", "exec $P --vanilla $F", "cat(\"ok\")"},
        {"go", "golang", "go", "main.go",
         "export GOCACHE=/tmp/go GOPATH=$HOME/go GOFLAGS=-mod=mod GOTOOLCHAIN=local; $P build -o $D/main $F && exec "
         "$D/main",
         "package main\nimport \"fmt\"\nfunc main() { fmt.Println(\"ok\") }\n"},
        {"c", "", "gcc cc clang tcc", "main.c", "$P -O1 -Wall -o $D/main $F -lm && exec $D/main",
         "#include <stdio.h>\nint main(void) { puts(\"ok\"); return 0; }\n"},
        {"c++", "cpp cxx cc", "g++ c++ clang++", "main.cpp", "$P -std=c++20 -O1 -Wall -o $D/main $F && exec $D/main",
         "#include <iostream>\nint main() { std::cout << \"ok\"; }\n"},
        {"rust", "rs", "rustc", "main.rs", "$P -O -o $D/main $F && exec $D/main", "fn main() { println!(\"ok\"); }\n"},
        {"java", "", "java", "Main.java", "exec $P $F",
         "class Main { public static void main(String[] given) { System.out.println(\"ok\"); } }\n"},
        {"kotlin", "kt", "kotlinc", "main.kt", "$P $F -include-runtime -d $D/main.jar && exec java -jar $D/main.jar",
         "fun main() { println(\"ok\") }\n"},
        {"csharp", "c# cs", "mcs", "main.cs", "$P -out:$D/main.exe $F && exec mono $D/main.exe",
         "class Program { static void Main() { System.Console.WriteLine(\"ok\"); } }\n"},
        {"swift", "", "swift", "main.swift", "exec $P $F", "print(\"ok\")\n"},
        {"haskell", "hs", "runghc", "main.hs", "exec $P $F", "main = putStrLn \"ok\"\n"},
        {"ocaml", "ml", "ocaml", "main.ml", "exec $P $F", "print_endline \"ok\";;\n"},
        {"julia", "jl", "julia", "main.jl", "exec $P $F", "println(\"ok\")"},
        {"fortran", "f90", "gfortran", "main.f90", "$P -o $D/main $F && exec $D/main",
         "program trial\nprint *, \"ok\"\nend program\n"},
        {"pascal", "pas", "fpc", "main.pas", "$P -l- -v0 -o$D/main $F && exec $D/main", "begin writeln('ok') end.\n"},
        {"d", "", "ldc2 dmd gdc", "main.d", "$P -of=$D/main $F && exec $D/main",
         "import std.stdio; void main() { writeln(\"ok\"); }\n"},
        {"nim", "", "nim", "main.nim", "exec $P r --hints:off --nimcache:$D/nim $F", "echo \"ok\"\n"},
        {"zig", "", "zig", "main.zig", "exec $P run $F",
         "const std = @import(\"std\");\npub fn main() void { std.debug.print(\"ok\", .{}); }\n"},
        {"elixir", "exs", "elixir", "main.exs", "exec $P $F", "IO.puts(\"ok\")"},
        {"erlang", "escript", "escript", "main.erl", "exec $P $F", "%%\nmain(_) -> io:format(\"ok~n\").\n"},
        {"scheme", "scm guile", "guile", "main.scm", "exec $P --no-auto-compile $F", "(display \"ok\")"},
        {"lisp", "commonlisp", "sbcl", "main.lisp", "exec $P --script $F", "(write-line \"ok\")"},
        {"tcl", "", "tclsh", "main.tcl", "exec $P $F", "puts ok"},
        {"awk", "", "gawk mawk awk", "main.awk", "exec $P -f $F /dev/null", "BEGIN { print \"ok\" }"},
        {"sql", "sqlite sqlite3", "sqlite3", "main.sql", "exec $P -bail -header -column :memory: < $F", "select 'ok';"},
        {"octave", "matlab", "octave-cli", "main.m", "exec $P --no-history $F", "disp(\"ok\")"},
        {"powershell", "pwsh", "pwsh", "main.ps1", "exec $P -NoProfile -File $F", "Write-Output ok"},
    };
    return table;
}

const language* find_language(std::string_view name)
{
    for (const auto& each : all_languages()) {
        if (equal_ignoring_case(each.name, name)) return &each;
        for (const auto alias : words(each.aliases))
            if (equal_ignoring_case(alias, name)) return &each;
    }
    return nullptr;
}

std::vector<std::string> installed_programs(const language& of)
{
    std::vector<std::string> all;
    for (const auto program : words(of.programs))
        for (const auto folder : folders)
            if (std::string path = std::string(folder) + std::string(program); ::access(path.c_str(), X_OK) == 0) {
                all.push_back(std::move(path));
                break;
            }
    return all;
}

std::string installed_program(const language& of)
{
    const auto all = installed_programs(of);
    return all.empty() ? std::string() : all.front();
}

std::string language_script(const language& of, const std::string& program)
{
    // The folder is under /tmp: the code is nothing that the workspace keeps.
    return "P=" + program + " && D=$(mktemp -d /tmp/code.XXXXXX) && F=$D/" + std::string(of.file) +
           " && cat <&3 > $F && exec 3<&- && { " + std::string(of.command) + "; }";
}

}  // namespace cmcp
