#include "sandboxes/languages.hpp"

#include "text/ascii.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>

namespace cmcp {

namespace {

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
