#include "config/default_commands.hpp"

namespace cmcp {

std::vector<std::string> default_commands()
{
    return {
        "ls", "cat", "grep", "find", "echo", "pwd", "mkdir", "touch",
        // text
        "head", "tail", "wc", "sort", "uniq", "cut", "paste", "join", "comm", "tr", "sed", "awk", "diff", "cmp", "patch",
        "fold", "fmt", "nl", "expand", "unexpand", "column", "tac", "rev", "split", "csplit", "shuf", "numfmt", "jq",
        "printf", "seq", "tee", "xargs", "od", "hexdump", "xxd", "base64", "md5sum", "sha1sum", "sha256sum", "sha512sum", "cksum",
        // files
        "rm", "rmdir", "cp", "mv", "ln", "chmod", "stat", "file", "du", "basename", "dirname", "realpath", "readlink", "mktemp",
        "tar", "gzip", "bzip2", "xz", "zip", "unzip",
        // the rest
        "date", "env", "printenv", "expr", "test", "true", "false", "sleep", "timeout",
    };
}

}  // namespace cmcp
