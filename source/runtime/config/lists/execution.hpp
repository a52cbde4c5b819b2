// Settings: runs, files and which tools there are. What a row means: config/setting_types.hpp.

TOPIC("Runs");
SETTING("SANDBOX_BACKEND", std::string, sandbox_backend, "native", choice({"native", "firejail"}),
        "how programs are confined: native or firejail");
SETTING("SANDBOX_REQUIRE", words, sandbox_require, "namespaces,seccomp,no_network,limits,browser_sandbox", word_list,
        "layers without which the server does not start (without browser_sandbox only web_browse does not run); strict "
        "forbids sandboxes of class machine, nesting lets these mount and make namespaces, and wants the layer memory");
SETTING("SERVER_CONFINE", bool, confine_server, "true", flag,
        "the server gives up starting programs and reaching other files once it runs");
SETTING("SANDBOX_LAUNCHER", path, launcher_path, "", file_path, "the launcher program; empty: beside container-mcp");
SETTING("SANDBOX_MAX_RUNS", std::size_t, max_runs, "0", number(0, 100'000),
        "runs at once, and as many beside them in the background; 0: four times the cores");
SETTING(
    "SANDBOX_WAITING", std::size_t, sandbox_waiting, "2", number(0, 64),
    "ready cells, each with a program confined already, for the next command of the last caller, and as many clones "
    "of the loaded interpreter for the next Python run");
SETTING("SANDBOX_PROCESS_LIMIT", std::uint64_t, process_limit, "256", number(1, 100'000),
        "processes and threads of a run, or of all that goes on in a sandbox");
SETTING("SANDBOX_OPEN_FILES", std::uint64_t, open_files_limit, "1024", number(64, 1'048'576),
        "files that a process may have open at once, sockets and pipes included");
SETTING("SANDBOX_MEMORY_LIMIT", std::uint64_t, memory_limit, "512", number(16, terabyte, mib),
        "memory of a command, MiB");
SETTING("SANDBOX_FILE_SIZE_LIMIT", std::uint64_t, file_size_limit, "256", number(1, terabyte, mib),
        "largest file that a run may write, MiB");
SETTING("SANDBOX_TMP_SIZE", std::uint64_t, tmp_size, "64", number(1, terabyte, mib),
        "size of a run's /tmp and /dev/shm, MiB each");
SETTING("SANDBOX_WORKSPACE_MAX_MB", std::uint64_t, workspace_max_size, "1024", number(0, terabyte, mib),
        "size of a default sandbox above which runs that fill it are ended, MiB; 0: any");
SETTING("SANDBOX_WORKSPACE_MAX_FILES", std::uint64_t, workspace_max_files, "200000", number(0, 1'000'000'000),
        "files and folders in a sandbox; 0: any");
SETTING("BASH_ALLOWED_COMMANDS", words, bash_allowed_commands,
        "ls,cat,grep,find,echo,pwd,mkdir,touch,head,tail,wc,sort,uniq,cut,paste,join,comm,tr,sed,awk,diff,cmp,patch,"
        "fold,fmt,nl,expand,unexpand,column,tac,rev,split,csplit,shuf,numfmt,jq,printf,seq,tee,xargs,od,hexdump,xxd,"
        "base64,md5sum,sha1sum,sha256sum,sha512sum,cksum,rm,rmdir,cp,mv,ln,chmod,stat,file,du,basename,dirname,"
        "realpath,readlink,mktemp,tar,gzip,bzip2,xz,zip,unzip,date,env,printenv,expr,test,true,false,sleep,timeout",
        command_names, "programs that exist inside the sandbox; * for all");
SETTING("BASH_TIMEOUT_DEFAULT", milliseconds, bash_timeout_default, "30", seconds(100ms, day),
        "time of a command without a timeout, seconds");
SETTING("BASH_TIMEOUT_MAX", milliseconds, bash_timeout_max, "120", seconds(100ms, day),
        "longest timeout of a command, seconds");
SETTING("PYTHON_INTERPRETER", std::string, python_interpreter, "/usr/bin/python3", absolute_path,
        "the interpreter, as seen inside the sandbox");
SETTING("PYTHON_ZYGOTE", std::string, python_zygote, "auto", choice({"off", "stdlib", "data", "auto"}),
        "interpreter kept loaded for fast runs: off, stdlib, data (with numpy, pandas, matplotlib), or auto: data for "
        "code that names them");
SETTING("PYTHON_MEMORY_LIMIT", std::uint64_t, python_memory_limit, "256", number(16, terabyte, mib),
        "memory of a Python run, MiB");
SETTING("PYTHON_TIMEOUT_DEFAULT", milliseconds, python_timeout_default, "30", seconds(100ms, day),
        "time of a Python run without a timeout, seconds");
SETTING("PYTHON_TIMEOUT_MAX", milliseconds, python_timeout_max, "120", seconds(100ms, day),
        "longest timeout of a Python run, seconds");

TOPIC("Files and groups of tools");
SETTING("FILE_MAX_SIZE_MB", std::uint64_t, file_max_size, "10", number(1, 4096, mib),
        "largest file that the file tools read or write, MiB");
SETTING("FILE_ALLOWED_EXTENSIONS", words, file_allowed_extensions, "txt,md,csv,json,py", extensions,
        "extensions that the file tools accept; * for all");
SETTING("TOOLS_ENABLE_SYSTEM", bool, enable_system, "true", flag, "offer the system_* tools");
SETTING("TOOLS_ENABLE_FILE", bool, enable_file, "true", flag, "offer the file_* tools");
SETTING("TOOLS_ENABLE_WEB", bool, enable_web, "true", flag, "offer the web_* tools");
SETTING("TOOLS_ENABLE_SANDBOX", bool, enable_sandbox, "true", flag, "offer the tools of sandboxes that last, and jobs");

TOPIC("Sandboxes and packages");
SETTING("SANDBOX_CALLS_BECOME_JOBS", bool, calls_become_jobs, "true", flag,
        "a client's call that exceeds its time continues as a job; false: it is ended");
SETTING("SANDBOX_JOB_TIMEOUT", milliseconds, job_timeout_max, "3600", seconds(1s, 365 * day),
        "time of a run in the background, default and maximum, seconds");
