#include "jail/seccomp_filter.hpp"

#include "jail/syscall_rules.hpp"
#include "posix/unique_fd.hpp"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <system_error>
#include <type_traits>
#include <vector>

namespace cmcp::sandbox {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t native_arch = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t native_arch = AUDIT_ARCH_AARCH64;
#else
#error "the system-call filter knows x86-64 and 64-bit ARM"
#endif

constexpr std::uint32_t x32_bit = 0x40000000;

using context = std::unique_ptr<std::remove_pointer_t<scmp_filter_ctx>, decltype(&::seccomp_release)>;

void check_seccomp(int result, std::string_view step)
{
    if (result < 0) throw std::system_error(-result, std::generic_category(), "seccomp filter: " + std::string(step));
}

// Pseudo numbers, which are negative, stand for calls that this architecture does not have.
int number_of(std::string_view name, int fallback = -1)
{
    int number = ::seccomp_syscall_resolve_name(std::string(name).c_str());
    return number == __NR_SCMP_ERROR ? fallback : number;
}

std::uint32_t action_of(const syscall_rule& rule)
{
    if (rule.error == without_effect) return SCMP_ACT_ERRNO(0);
    return rule.error == 0 ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(static_cast<std::uint16_t>(rule.error));
}

// libseccomp refuses a rule that says no more than the filter's answer to everything else.
bool is_needless(scmp_filter_ctx filter, const syscall_rule& rule)
{
    std::uint32_t otherwise = 0;
    check_seccomp(::seccomp_attr_get(filter, SCMP_FLTATR_ACT_DEFAULT, &otherwise), "default answer");
    return action_of(rule) == otherwise;
}

void add_rule(scmp_filter_ctx filter, const syscall_rule& rule)
{
    int number = number_of(rule.name, rule.number);
    if (number < 0 || is_needless(filter, rule)) return;
    std::vector<scmp_arg_cmp> conditions;
    for (const argument_is& a : rule.when) {
        if (a.differs)
            conditions.push_back({a.index, SCMP_CMP_NE, a.value, 0});
        else
            conditions.push_back({a.index, SCMP_CMP_MASKED_EQ, a.mask, a.value});
    }
    auto count = static_cast<unsigned>(conditions.size());
    check_seccomp(::seccomp_rule_add_array(filter, action_of(rule), number, count, conditions.data()), rule.name);
}

context empty_filter(int otherwise)
{
    context filter(::seccomp_init(SCMP_ACT_ERRNO(static_cast<std::uint16_t>(otherwise))), &::seccomp_release);
    if (!filter) throw std::system_error(ENOMEM, std::generic_category(), "seccomp filter");
    check_seccomp(::seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2), "binary tree");
    check_seccomp(::seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS),
                  "foreign architectures");
    return filter;
}

using call_names = std::span<const std::string_view>;

bool is_one_of(call_names names, std::string_view name) { return std::ranges::find(names, name) != names.end(); }

context build(bool memory_files, bool sockets, call_names announced)
{
    context filter = empty_filter(EPERM);
    for (std::string_view name : allowed_syscalls())
        if (!is_one_of(announced, name)) add_rule(filter.get(), {name, -1, 0, {}});
    if (memory_files) add_rule(filter.get(), {"memfd_create", -1, 0, {}});
    for (const syscall_rule& rule : conditional_syscalls()) {
        const bool is_announced = is_one_of(announced, rule.name) || (sockets && rule.error == EAFNOSUPPORT);
        if (!is_announced) add_rule(filter.get(), rule);
    }
    return filter;
}

std::vector<sock_filter> export_code(scmp_filter_ctx filter)
{
    unique_fd file(::memfd_create("filter", MFD_CLOEXEC));
    check_seccomp(file ? 0 : -errno, "memfd_create");
    check_seccomp(::seccomp_export_bpf(filter, file.get()), "export");
    struct stat size {};
    check_seccomp(::fstat(file.get(), &size) == 0 ? 0 : -errno, "fstat");
    std::vector<sock_filter> code(static_cast<std::size_t>(size.st_size) / sizeof(sock_filter));
    ssize_t got = ::pread(file.get(), code.data(), code.size() * sizeof(sock_filter), 0);
    if (got != size.st_size) check_seccomp(-EIO, "read back");
    return code;
}

sock_filter load(std::size_t offset) { return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset)); }

sock_filter jump(std::uint16_t test, std::uint32_t value, std::size_t when_true, std::size_t when_false)
{
    return BPF_JUMP(static_cast<std::uint16_t>(BPF_JMP | test | BPF_K), value, static_cast<std::uint8_t>(when_true),
                    static_cast<std::uint8_t>(when_false));
}

sock_filter fail(int error) { return BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error)); }

// Rules that libseccomp cannot say: "not one of these values" for ioctl's low 32 bits, and another answer for numbers
// that nobody knows yet. All jumps are forward and relative, so this can stand before the code that libseccomp made.
std::vector<sock_filter> prologue()
{
    constexpr std::size_t low_half = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : 4;
    constexpr std::size_t before_ioctls = 7;
    const auto requests = refused_ioctls();
    const std::size_t n = requests.size();
    const std::size_t end =
        before_ioctls + 1 + n + 1;  // the index of the first instruction after the prologue, less its last
    std::vector<sock_filter> code;
    auto skip = [&] { return end - code.size(); };
    code.push_back(load(offsetof(seccomp_data, arch)));
    code.push_back(jump(BPF_JEQ, native_arch, 0, skip()));
    code.push_back(load(offsetof(seccomp_data, nr)));
    code.push_back(jump(BPF_JGE, x32_bit, skip(), 0));
    code.push_back(jump(BPF_JGE, first_unknown_syscall, 0, 1));
    code.push_back(fail(ENOSYS));
    code.push_back(jump(BPF_JEQ, SYS_ioctl, 0, skip()));
    code.push_back(load(offsetof(seccomp_data, args[1]) + low_half));
    for (std::size_t i = 0; i != n; ++i) code.push_back(jump(BPF_JEQ, requests[i], n - i, 0));
    code.push_back(jump(BPF_JA, 1, 0, 0));
    code.push_back(fail(EPERM));
    return code;
}

bpf_program with_prologue(const context& filter)
{
    std::vector<sock_filter> body = export_code(filter.get());
    bpf_program program{prologue()};
    program.code.insert(program.code.end(), body.begin(), body.end());
    if (program.code.size() > BPF_MAXINSNS) check_seccomp(-E2BIG, "too long");
    return program;
}

// On top of the general filter, for runs without a cgroup: no memory that the kernel keeps while no process maps it, so
// that no look at the processes can count it. Those are System V objects, files in memory (which live on in messages
// between sockets) and rules of Landlock. Shared memory of /dev/shm stays, which has a size
// of its own. The general filter has killed calls of foreign architectures by then: numbers mean what they say.
constexpr std::uint32_t uncounted_memory[] = {SYS_shmget, SYS_msgget, SYS_semget, SYS_memfd_create,
                                              SYS_landlock_add_rule};

// A watch of a file that others see, too, would tell what they and the machine execute.
constexpr std::uint32_t watches[] = {SYS_inotify_add_watch};

bpf_program refuse(bool memory, bool watching)
{
    std::vector<std::uint32_t> calls;
    if (memory) calls.assign(std::begin(uncounted_memory), std::end(uncounted_memory));
    if (watching) calls.insert(calls.end(), std::begin(watches), std::end(watches));
    bpf_program program{{load(offsetof(seccomp_data, nr))}};
    std::size_t left = calls.size();
    for (const std::uint32_t call : calls) program.code.push_back(jump(BPF_JEQ, call, left--, 0));
    program.code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    program.code.push_back(fail(ENOSYS));
    return program;
}

bool refuses_for_good(const sock_filter& i)
{
    return i.code == (BPF_RET | BPF_K) && (i.k == (SECCOMP_RET_ERRNO | EPERM) || i.k == SECCOMP_RET_KILL_PROCESS);
}

unsigned architecture_token(std::uint32_t arch, int number)
{
    return arch == AUDIT_ARCH_X86_64 && (static_cast<std::uint32_t>(number) & x32_bit) != 0 ? SCMP_ARCH_X32 : arch;
}

const char* architecture_name(unsigned token)
{
    switch (token) {
        case SCMP_ARCH_X86:
            return "i386";
        case SCMP_ARCH_X32:
            return "x32";
        case SCMP_ARCH_ARM:
            return "arm";
        default:
            return "a foreign architecture";
    }
}

}  // namespace

bpf_program compile_filter(bool memory_files) { return with_prologue(build(memory_files, false, {})); }

bpf_program compile_rules(const std::vector<syscall_rule>& rules, int otherwise)
{
    const context filter = empty_filter(otherwise);
    for (const syscall_rule& rule : rules) add_rule(filter.get(), rule);
    return with_prologue(filter);
}

// libseccomp does not take "notify" as the answer to everything else, so its own answers are exchanged.
bpf_program compile_announcing_filter(bool memory_files, bool sockets, std::span<const std::string_view> more)
{
    std::vector<std::string_view> announced{"connect"};
    if (sockets) announced.emplace_back("bind");
    announced.insert(announced.end(), more.begin(), more.end());
    bpf_program program = with_prologue(build(memory_files, sockets, announced));
    for (sock_filter& each : program.code)
        if (refuses_for_good(each)) each.k = SECCOMP_RET_USER_NOTIF;
    return program;
}

// A machine's programs connect UNIX sockets by themselves, so a connect goes on to the kernel in any case. A call of a
// foreign architecture ends its process alone and not the run: ldd tries the loaders of all architectures.
machine_filter compile_machine_filter(const machine_calls& which)
{
    const context quiet = empty_filter(EPERM), announcing = empty_filter(EPERM);
    for (const syscall_rule& rule : machine_syscalls(which)) {
        add_rule(quiet.get(), rule);
        if (rule.name != "connect") add_rule(announcing.get(), rule);
    }
    machine_filter filters{with_prologue(quiet), with_prologue(announcing)};
    for (sock_filter& each : filters.announcing.code)
        if (refuses_for_good(each) && each.k != SECCOMP_RET_KILL_PROCESS) each.k = SECCOMP_RET_USER_NOTIF;
    return filters;
}

const machine_filter& call_filters::machine(const machine_calls& which) const
{
    const auto known = machines_.find(which);
    return known != machines_.end() ? known->second
                                    : machines_.emplace(which, compile_machine_filter(which)).first->second;
}

call_filters::call_filters(bool memory_is_counted, bool files_are_own, bool makes_sockets)
    : counted_(memory_is_counted),
      own_(files_are_own),
      general_(compile_filter(true)),
      listed_(compile_filter(false)),
      announcing_general_(compile_announcing_filter(true, makes_sockets)),
      announcing_listed_(compile_announcing_filter(false, makes_sockets)),
      shared_(refuse(!memory_is_counted, !files_are_own))
{
}

std::vector<const bpf_program*> call_filters::with_shared(const bpf_program& first) const
{
    std::vector<const bpf_program*> filters{&first};
    if (!counted_ || !own_) filters.push_back(&shared_);  // the first must still allow installing it
    return filters;
}

std::vector<const bpf_program*> call_filters::choose(const program_view& programs) const
{
    return with_shared(programs.all ? general_ : listed_);
}

const bpf_program* call_filters::announcing(const program_view& programs) const
{
    return programs.all ? &announcing_general_ : &announcing_listed_;
}

namespace {

std::string name_in(unsigned token, int number)
{
    char* known = ::seccomp_syscall_resolve_num_arch(token, number);
    if (known == nullptr) return std::to_string(number);
    std::unique_ptr<char, decltype(&std::free)> owner(known, &std::free);
    return known;
}

}  // namespace

std::string syscall_name(int number) { return name_in(SCMP_ARCH_NATIVE, number); }

std::string syscall_name(int number, std::uint32_t arch)
{
    if (is_native(arch, number)) return syscall_name(number);
    const unsigned token = architecture_token(arch, number);
    return name_in(token, number) + " (" + architecture_name(token) + ")";
}

bool is_native(std::uint32_t arch, int number)
{
    return arch == native_arch && (static_cast<std::uint32_t>(number) & x32_bit) == 0;
}

}  // namespace cmcp::sandbox
