#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "jail/payload.hpp"
#include "jsonrpc/json.hpp"
#include "wire/python_start.hpp"
#include "zygote/interpreter.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <stdexcept>

namespace cmcp::sandbox {

extern const std::string_view prelude;  // prelude.py: functions in a namespace of their own, which no run sees

namespace {

constexpr int most_known_descriptor = 4;  // streams, the launcher's socket, and one that keeps its number

PyObject* names = nullptr;   // of the prelude
PyObject* before = nullptr;  // the part of -c that is the same for all runs; none: there is no such part
PyObject* code = nullptr;    // of -c, or its other part

// The text of the Python error that is set, which is cleared; empty when there is none.
std::string error_text()
{
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    PyObject* const text = value ? PyObject_Str(value) : nullptr;
    const char* const bytes = text ? PyUnicode_AsUTF8(text) : nullptr;
    std::string result = bytes ? bytes : "";
    PyErr_Clear();
    for (PyObject* each : {text, type, value, trace}) Py_XDECREF(each);
    return result;
}

[[noreturn]] void fail(const std::string& what)
{
    const std::string why = error_text();
    throw std::runtime_error("the Python zygote could not " + what + (why.empty() ? "" : ": " + why));
}

PyObject* checked(PyObject* object, const char* what)
{
    if (object == nullptr) fail(what);
    return object;
}

// Another Python than the one that was linked would find other modules and other results.
void check_program(const std::string& program)
{
    std::error_code missing;
    const auto wanted = std::filesystem::canonical(program, missing);
    const auto linked = std::filesystem::canonical(CMCP_PYTHON, missing);
    if (missing || wanted != linked)
        throw std::runtime_error("PYTHON_INTERPRETER=" + program +
                                 " is not " CMCP_PYTHON ", which the zygote was built with");
}

void start(const std::vector<std::string>& argv)
{
    std::vector<char*> pointers;
    for (const auto& each : argv) pointers.push_back(const_cast<char*>(each.c_str()));
    PyConfig config;
    PyConfig_InitPythonConfig(&config);
    PyStatus status = PyConfig_SetBytesArgv(&config, static_cast<Py_ssize_t>(pointers.size()), pointers.data());
    if (!PyStatus_Exception(status)) status = Py_InitializeFromConfig(&config);
    PyConfig_Clear(&config);
    if (PyStatus_Exception(status)) throw std::runtime_error(status.err_msg ? status.err_msg : "Python does not start");
}

PyObject* compiled(const std::string& text)
{
    PyCompilerFlags flags{PyCF_IGNORE_COOKIE, PY_MINOR_VERSION};
    return checked(Py_CompileStringExFlags(text.c_str(), "<string>", Py_file_input, &flags, -1), "read the code of -c");
}

void compile_parts(const std::string& text)
{
    const auto end = text.find(run_begins);
    if (end != std::string::npos) before = compiled(text.substr(0, end + 1));
    code = compiled(end == std::string::npos ? text : text.substr(end));
}

PyObject* main_names() { return PyModule_GetDict(PyImport_AddModule("__main__")); }

// Returns a new reference; nullptr with a Python error.
PyObject* call(const char* function, PyObject* argument = nullptr)
{
    PyObject* const callee = PyDict_GetItemString(names, function);
    return argument ? PyObject_CallOneArg(callee, argument) : PyObject_CallNoArgs(callee);
}

PyObject* list_of(const std::vector<std::string>& texts)
{
    PyObject* const list = checked(PyList_New(0), "list texts");
    for (const auto& each : texts) {
        PyObject* const text = checked(PyUnicode_DecodeFSDefault(each.c_str()), "list texts");
        PyList_Append(list, text);
        Py_DECREF(text);
    }
    return list;
}

// sys.flags has no way to be changed in Python. The rest of -I is sys.path, which the prelude sees to.
void set_flags(bool isolated)
{
    PyObject* const flags = PySys_GetObject("flags");
    PyObject* const fields = checked(PyObject_GetAttrString(flags, "__match_args__"), "read sys.flags");
    for (Py_ssize_t i = 0; i < PyTuple_Size(fields); ++i) {
        const std::string name = PyUnicode_AsUTF8(PyTuple_GetItem(fields, i));
        if (name == "isolated" || name == "ignore_environment" || name == "no_user_site")
            PyStructSequence_SetItem(flags, i, PyLong_FromLong(isolated));
    }
    Py_DECREF(fields);
}

// Tells how many modules of the profile are there, and which are missing.
void load(const std::string& profile, json::object& about)
{
    PyObject* const name = checked(PyUnicode_FromString(profile.c_str()), "load the modules");
    PyObject* const loaded = checked(call("load", name), "load the modules");
    PyObject* const missing = PyTuple_GetItem(loaded, 1);
    json::array absent;
    for (Py_ssize_t i = 0; i < PyList_Size(missing); ++i)
        absent.emplace_back(PyUnicode_AsUTF8(PyList_GetItem(missing, i)));
    about["modules"] = PyLong_AsLong(PyTuple_GetItem(loaded, 0)) - static_cast<long>(absent.size());
    about["missing"] = std::move(absent);
    Py_DECREF(loaded);
    Py_DECREF(name);
}

// A clone has one thread and none of our descriptors.
void check_nothing_is_left_behind()
{
    namespace fs = std::filesystem;
    const auto threads = std::distance(fs::directory_iterator("/proc/self/task"), fs::directory_iterator());
    if (threads != 1) throw std::runtime_error("a module that was loaded beforehand started threads");
    for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        const auto target = fs::read_symlink(entry.path(), gone).string();
        const bool ours = std::stoi(entry.path().filename()) <= most_known_descriptor || target.ends_with("/fd");
        if (!ours) throw std::runtime_error("a module that was loaded beforehand keeps " + target + " open");
    }
}

// False: Python's own end is needed. Called from here, `wait` and `at_exit` show no frame of ours in a traceback.
bool finish()
{
    for (const char* step : {"wait", "at_exit"}) {
        PyObject* const done = call(step);
        if (done == nullptr) PyErr_WriteUnraisable(nullptr);
        Py_XDECREF(done);
    }
    PyObject* const done = call("finish");
    const bool all = done != nullptr && PyObject_IsTrue(done) == 1;
    if (done == nullptr) PyErr_Clear();
    Py_XDECREF(done);
    return all;
}

// The status of a SystemExit whose code is a number, which is what the code of a run ends with.
bool plain_exit(PyObject* exception, int& status)
{
    PyObject* const value = PyObject_GetAttrString(exception, "code");
    const bool plain = value != nullptr && PyLong_Check(value);
    if (plain) status = static_cast<int>(PyLong_AsLong(value));
    Py_XDECREF(value);
    PyErr_Clear();
    return plain;
}

}  // namespace

interpreter::interpreter(const std::vector<std::string>& argv, const std::string& program)
{
    check_program(argv.at(0));
    start(argv);
    compile_parts(program);
    names = checked(PyDict_New(), "start");
    PyDict_SetItemString(names, "__builtins__", PyEval_GetBuiltins());
    Py_DECREF(checked(PyRun_String(std::string(prelude).c_str(), Py_file_input, names, names), "run its own code"));
}

std::string interpreter::preload(const std::string& profile)
{
    json::object about;
    about["python"] = std::string(Py_GetVersion()).substr(0, std::string(Py_GetVersion()).find(' '));
    about["profile"] = profile;
    load(profile, about);
    if (before != nullptr) Py_DECREF(checked(PyEval_EvalCode(before, main_names(), main_names()), "run its own code"));
    Py_DECREF(checked(call("settle", main_names()), "settle"));
    check_nothing_is_left_behind();
    return json::serialize(about);
}

void interpreter::before_fork() { PyOS_BeforeFork(); }

void interpreter::parent_after_fork() { PyOS_AfterFork_Parent(); }

void interpreter::after_fork()
{
    PyOS_AfterFork_Child();
    Py_DECREF(checked(call("fresh"), "make a fresh start"));
}

void interpreter::take(const run_request& run)
{
    const auto wanted = python_start::read(run.argv);
    if (!wanted) fail("start in this way");
    set_flags(wanted->isolated);
    PyObject* const all = Py_BuildValue("(ONNN)", wanted->isolated ? Py_True : Py_False, list_of(wanted->arguments),
                                        list_of(wanted->command_line()), list_of(make_environment(run)));
    Py_DECREF(checked(call("take", checked(all, "take a start over")), "take a start over"));
    Py_DECREF(all);
}

bool interpreter::meets_other_packages()
{
    PyObject* const answer = call("meets_other_packages");
    const bool meets = answer == nullptr || PyObject_IsTrue(answer) == 1;
    PyErr_Clear();
    Py_XDECREF(answer);
    return meets;
}

void interpreter::run(void (*before_end)(int status))
{
    Py_XDECREF(call("streams"));
    PyObject* const ready = call("add_own_packages");
    PyObject* const done = ready ? PyEval_EvalCode(code, main_names(), main_names()) : nullptr;
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    int status = 0;
    const bool ended = type == nullptr
                           ? done != nullptr
                           : PyErr_GivenExceptionMatches(type, PyExc_SystemExit) && plain_exit(value, status);
    if (ended) {
        Py_CLEAR(trace);  // it holds the frames of the run, and with them its objects
        Py_CLEAR(value);
        Py_CLEAR(type);
        if (finish()) {
            std::fflush(nullptr);
            before_end(status & 0xff);
            ::_exit(status & 0xff);
        }
        Py_Exit(status);
    }
    PyErr_Restore(type, value, trace);
    PyErr_Print();  // ends the process when it is SystemExit
    Py_Exit(1);
}

}  // namespace cmcp::sandbox
