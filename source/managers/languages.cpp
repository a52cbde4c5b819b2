#include "managers/languages.hpp"

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

bool same(std::string_view a, std::string_view b)
{
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace

const std::vector<language>& all_languages()
{
    static const std::vector<language> table{
        {"python", "python3 py", "python3", "main.py", ""},
        {"bash", "shell", "bash", "main.bash", "exec $P --norc --noprofile $F"},
        {"sh", "posix", "sh", "main.sh", "exec $P $F"},
        {"javascript", "js node nodejs", "node nodejs", "main.js",
         "grep -Eq '^[[:space:]]*(import[[:space:]{*\"]|export[[:space:]{*])' $F && mv $F ${F%.js}.mjs && F=${F%.js}.mjs; exec $P $F"},
        {"typescript", "ts", "tsx ts-node deno bun node", "main.ts",
         "case $P in */deno) exec $P run --allow-read --allow-write $F;; */node) exec $P --experimental-strip-types --no-warnings $F;; "
         "*) exec $P $F;; esac"},
        {"ruby", "rb", "ruby", "main.rb", "exec $P $F"},
        {"perl", "pl", "perl", "main.pl", "exec $P $F"},
        {"php", "", "php", "main.php", "head -c 5 $F | grep -q '<?' || { printf '<?php\\n'; cat $F; } > $F.tagged; [ -f $F.tagged ] && F=$F.tagged; exec $P $F"},
        {"lua", "", "lua lua5.4 lua5.3 lua5.1 luajit", "main.lua", "exec $P $F"},
        {"r", "rscript", "Rscript", "main.R", "exec $P --vanilla $F"},
        {"go", "golang", "go", "main.go", "export GOCACHE=/tmp/go GOPATH=$HOME/go GOFLAGS=-mod=mod GOTOOLCHAIN=local; $P build -o $D/main $F && exec $D/main"},
        {"c", "", "gcc cc clang tcc", "main.c", "$P -O1 -Wall -o $D/main $F -lm && exec $D/main"},
        {"c++", "cpp cxx cc", "g++ c++ clang++", "main.cpp", "$P -std=c++20 -O1 -Wall -o $D/main $F && exec $D/main"},
        {"rust", "rs", "rustc", "main.rs", "$P -O -o $D/main $F && exec $D/main"},
        {"java", "", "java", "Main.java", "exec $P $F"},
        {"kotlin", "kt", "kotlinc", "main.kt", "$P $F -include-runtime -d $D/main.jar && exec java -jar $D/main.jar"},
        {"csharp", "c# cs", "mcs", "main.cs", "$P -out:$D/main.exe $F && exec mono $D/main.exe"},
        {"swift", "", "swift", "main.swift", "exec $P $F"},
        {"haskell", "hs", "runghc", "main.hs", "exec $P $F"},
        {"ocaml", "ml", "ocaml", "main.ml", "exec $P $F"},
        {"julia", "jl", "julia", "main.jl", "exec $P $F"},
        {"fortran", "f90", "gfortran", "main.f90", "$P -o $D/main $F && exec $D/main"},
        {"pascal", "pas", "fpc", "main.pas", "$P -v0 -o$D/main $F && exec $D/main"},
        {"d", "", "ldc2 dmd gdc", "main.d", "$P -of=$D/main $F && exec $D/main"},
        {"nim", "", "nim", "main.nim", "exec $P r --hints:off --nimcache:$D/nim $F"},
        {"zig", "", "zig", "main.zig", "exec $P run $F"},
        {"elixir", "exs", "elixir", "main.exs", "exec $P $F"},
        {"erlang", "escript", "escript", "main.erl", "exec $P $F"},
        {"scheme", "scm guile", "guile", "main.scm", "exec $P --no-auto-compile $F"},
        {"lisp", "commonlisp", "sbcl", "main.lisp", "exec $P --script $F"},
        {"tcl", "", "tclsh", "main.tcl", "exec $P $F"},
        {"awk", "", "gawk mawk awk", "main.awk", "exec $P -f $F /dev/null"},
        {"sql", "sqlite sqlite3", "sqlite3", "main.sql", "exec $P -bail -header -column :memory: < $F"},
        {"octave", "matlab", "octave-cli", "main.m", "exec $P --no-history $F"},
        {"powershell", "pwsh", "pwsh", "main.ps1", "exec $P -NoProfile -File $F"},
    };
    return table;
}

const language* find_language(std::string_view name)
{
    for (const auto& each : all_languages()) {
        if (same(each.name, name)) return &each;
        for (const auto alias : words(each.aliases))
            if (same(alias, name)) return &each;
    }
    return nullptr;
}

std::string installed_program(const language& of)
{
    for (const auto program : words(of.programs))
        for (const auto folder : folders)
            if (const std::string path = std::string(folder) + std::string(program); ::access(path.c_str(), X_OK) == 0) return path;
    return {};
}

std::string language_names(bool only_installed)
{
    std::string names;
    for (const auto& each : all_languages())
        if (!only_installed || !installed_program(each).empty()) names += (names.empty() ? "" : ", ") + std::string(each.name);
    return names;
}

namespace {

std::string search(const language& of)
{
    const std::string names(of.programs);
    return "P= && for name in " + names + "; do P=$(command -v $name) && break; done; [ -n \"$P\" ] || { echo 'Nothing that runs " +
           std::string(of.name) + " is in the image of this sandbox (" + names + ").' >&2; exit 127; }; ";
}

}  // namespace

std::string language_script(const language& of, const std::string& program)
{
    // The folder is under /tmp: the code is nothing that the workspace keeps.
    const std::string chosen = program.empty() ? search(of) : "P=" + program + " && ";
    return chosen + "D=$(mktemp -d /tmp/code.XXXXXX) && F=$D/" + std::string(of.file) + 
           " && cat <&3 > $F && exec 3<&- && { " + std::string(of.command) + "; }";
}

}  // namespace cmcp
