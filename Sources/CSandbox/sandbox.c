#define _GNU_SOURCE
#include "CSandbox.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netdb.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "the filter is written for x86-64 and arm64"
#endif

// The filter. Both architectures are little-endian: the low half of an argument comes first.

struct program {
    struct sandbox_step *steps;
    int count;
};

static void add(struct program *program, uint16_t code, uint8_t if_true, uint8_t if_false, uint32_t value) {
    if (program->count < SANDBOX_STEPS)
        program->steps[program->count++] = (struct sandbox_step){code, if_true, if_false, value};
}

static void load(struct program *p, size_t offset) { add(p, BPF_LD | BPF_W | BPF_ABS, 0, 0, offset); }
static void load_number(struct program *p) { load(p, offsetof(struct seccomp_data, nr)); }
static void load_low(struct program *p, int argument) { load(p, offsetof(struct seccomp_data, args) + 8 * argument); }
static void load_high(struct program *p, int argument) { load(p, offsetof(struct seccomp_data, args) + 8 * argument + 4); }
static void give(struct program *p, uint32_t result) { add(p, BPF_RET | BPF_K, 0, 0, result); }

/// The result of a call.
static void call(struct program *p, int number, uint32_t result) {
    add(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, number);
    give(p, result);
}

/// Begins a call that depends on its arguments. `end` sets the jump over it.
static int begin(struct program *p, int number) {
    add(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, number);
    return p->count - 1;
}

static void end(struct program *p, int start, uint32_t otherwise) {
    give(p, otherwise);
    p->steps[start].if_false = p->count - start - 1;
}

/// Allows where the accumulator has this value.
static void allow_if(struct program *p, uint32_t value) {
    add(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, value);
    give(p, SECCOMP_RET_ALLOW);
}

int sandbox_filter(struct sandbox_step steps[SANDBOX_STEPS], int rights, int process) {
    const uint32_t refuse = SECCOMP_RET_ERRNO | EPERM, ignore = SECCOMP_RET_ERRNO, ask = SECCOMP_RET_TRAP;
    struct program program = {steps, 0}, *p = &program;
    int start;
    load(p, offsetof(struct seccomp_data, arch));
    add(p, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, ARCHITECTURE);
    give(p, SECCOMP_RET_KILL_PROCESS);
    load_number(p);
    static const int allowed[] = {
        // What it has open already.
        SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_recvfrom, SYS_recvmsg, SYS_lseek, SYS_pread64, SYS_fstat, SYS_close,
        SYS_dup, SYS_shutdown, SYS_getsockopt, SYS_getsockname, SYS_getpeername, SYS_ppoll, SYS_pselect6, SYS_epoll_create1,
        SYS_epoll_ctl, SYS_epoll_pwait, SYS_eventfd2,
#ifdef SYS_poll
        SYS_poll, SYS_select, SYS_epoll_wait, SYS_epoll_create,
#endif
        // Time, threads that there are, memory.
        SYS_futex, SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep, SYS_nanosleep, SYS_gettimeofday, SYS_sched_yield,
        SYS_sched_getaffinity, SYS_getcpu, SYS_set_robust_list, SYS_rseq, SYS_membarrier, SYS_gettid, SYS_getpid, SYS_uname,
        SYS_sysinfo, SYS_getrandom, SYS_brk, SYS_munmap, SYS_mremap, SYS_madvise, SYS_rt_sigprocmask, SYS_rt_sigreturn,
        SYS_sigaltstack, SYS_restart_syscall,
        // The threads of libdispatch, which the program has when it begins: refused, they try again without end.
        SYS_rt_sigsuspend, SYS_timerfd_create, SYS_timerfd_settime, SYS_exit, SYS_exit_group,
#ifdef SYS_time
        SYS_time,
#endif
    };
    for (size_t index = 0; index < sizeof allowed / sizeof *allowed; index++) call(p, allowed[index], SECCOMP_RET_ALLOW);
    // Sockets are those that it was given, and are connected where they may go to.
    call(p, SYS_socket, ask);
    call(p, SYS_connect, ignore);
    call(p, SYS_bind, ignore);
    call(p, SYS_sendmsg, rights & SANDBOX_ANY_PEER ? SECCOMP_RET_ALLOW : ask);
    start = begin(p, SYS_sendto);
    if (rights & SANDBOX_ANY_PEER) give(p, SECCOMP_RET_ALLOW);
    load_low(p, 4);
    add(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 3, 0);
    load_high(p, 4);
    allow_if(p, 0);
    end(p, start, refuse);
    start = begin(p, SYS_setsockopt);
    // libsrt waits by time-outs of its socket; other options make no difference to what is read.
    load_low(p, 1);
    add(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 5, SOL_SOCKET);
    load_low(p, 2);
    allow_if(p, SO_RCVTIMEO);
    allow_if(p, SO_RCVBUF);
    end(p, start, ignore);
    start = begin(p, SYS_fcntl);
    load_low(p, 1);
    allow_if(p, F_GETFL);
    allow_if(p, F_SETFL);
    allow_if(p, F_GETFD);
    allow_if(p, F_SETFD);
    end(p, start, refuse);
    start = begin(p, SYS_ioctl);
    load_low(p, 1);
    allow_if(p, 0x5421);  // FIONBIO
    end(p, start, refuse);
    // Memory of its own, which is never code.
    start = begin(p, SYS_mmap);
    load_low(p, 2);
    add(p, BPF_JMP | BPF_JSET | BPF_K, 4, 0, PROT_EXEC);
    load_low(p, 3);
    add(p, BPF_ALU | BPF_AND | BPF_K, 0, 0, MAP_TYPE);
    allow_if(p, MAP_PRIVATE);
    end(p, start, refuse);
    start = begin(p, SYS_mprotect);
    load_low(p, 2);
    add(p, BPF_JMP | BPF_JSET | BPF_K, 1, 0, PROT_EXEC);
    give(p, SECCOMP_RET_ALLOW);
    end(p, start, refuse);
    // A name for its thread; signals to itself, with which abort(3) ends it.
    start = begin(p, SYS_prctl);
    load_low(p, 0);
    allow_if(p, PR_SET_NAME);
    end(p, start, refuse);
    start = begin(p, SYS_tgkill);
    load_low(p, 0);
    allow_if(p, process);
    end(p, start, refuse);
    // clone3(2) has its flags in memory, where no filter can see them: the C library takes clone(2) then.
    call(p, SYS_clone3, SECCOMP_RET_ERRNO | ENOSYS);
    if (rights & SANDBOX_THREADS) {
        start = begin(p, SYS_clone);
        load_low(p, 0);
        add(p, BPF_ALU | BPF_AND | BPF_K, 0, 0, CLONE_THREAD | CLONE_VM | CLONE_SIGHAND);
        allow_if(p, CLONE_THREAD | CLONE_VM | CLONE_SIGHAND);
        end(p, start, refuse);
    }
    give(p, refuse);
    return program.count;
}

// What the filter asks.

static int given[SANDBOX_DESCRIPTORS];
static int given_count;
static atomic_int given_next;

/// socket(2) returns the next socket that was given; sendmsg(2) sends without an address, to where the socket leads.
static long answer(int number, const unsigned long long arguments[3]) {
    if (number == SYS_socket) {
        if (arguments[0] != AF_INET && arguments[0] != AF_INET6) return -EAFNOSUPPORT;
        int index = atomic_fetch_add(&given_next, 1);
        return index < given_count ? given[index] : -EACCES;
    }
    if (number == SYS_sendmsg) {
        const struct msghdr *message = (const struct msghdr *)arguments[1];
        long sent = writev(arguments[0], message->msg_iov, message->msg_iovlen);
        return sent < 0 ? -errno : sent;
    }
    return -EPERM;
}

static void asked(int signal, siginfo_t *information, void *context) {
    (void)signal;
    int kept = errno;
    ucontext_t *state = context;
#if defined(__x86_64__)
    greg_t *registers = state->uc_mcontext.gregs;
    unsigned long long arguments[3] = {registers[REG_RDI], registers[REG_RSI], registers[REG_RDX]};
    registers[REG_RAX] = answer(information->si_syscall, arguments);
#else
    unsigned long long *registers = state->uc_mcontext.regs;
    unsigned long long arguments[3] = {registers[0], registers[1], registers[2]};
    registers[0] = answer(information->si_syscall, arguments);
#endif
    errno = kept;
}

int sandbox_refused_socket(void) { return atomic_load(&given_next) > given_count; }

static int limit(int resource, rlim_t value) {
    struct rlimit limits = {value, value};
    return setrlimit(resource, &limits);
}

int sandbox_enter(int rights, const int *sockets, int count, uint64_t bytes) {
    if (count < 0 || count > SANDBOX_DESCRIPTORS) return EINVAL;
    for (int index = 0; index < count; index++) given[index] = sockets[index];
    given_count = count;
    // RLIMIT_DATA counts all private memory that can be written, stacks included, and no code.
    if (limit(RLIMIT_DATA, bytes) || limit(RLIMIT_CORE, 0) || limit(RLIMIT_FSIZE, 0) || limit(RLIMIT_NOFILE, 64)) return errno;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = SIG_DFL;
    // Swift's handlers of crashes would start a program, and set the default by sigaction(2) to crash by: in vain, for ever.
    for (int number = 1; number < NSIG; number++)
        if (number != SIGKILL && number != SIGSTOP) sigaction(number, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    action.sa_sigaction = asked;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    if (sigaction(SIGSYS, &action, NULL) != 0) return errno;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
    static struct sandbox_step steps[SANDBOX_STEPS];
    struct sock_fprog program = {sandbox_filter(steps, rights, getpid()), (struct sock_filter *)steps};
    // TSYNC: the threads that there are, too.
    long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
    return result < 0 ? errno : result > 0 ? EBUSY : 0;
}

// Between the two processes.

/// Moves a descriptor away from 0 to 2, where a server without standard streams gets it.
static int above_standard(int descriptor) {
    if (descriptor < 0 || descriptor > 2) return descriptor;
    int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
    close(descriptor);
    return moved;
}

int sandbox_pair(int ends[2]) {
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return -1;
    ends[0] = above_standard(ends[0]);
    ends[1] = above_standard(ends[1]);
    if (ends[0] >= 0 && ends[1] >= 0) return 0;
    if (ends[0] >= 0) close(ends[0]);
    if (ends[1] >= 0) close(ends[1]);
    return -1;
}

int sandbox_memory(long size) {
    int memory = above_standard(memfd_create("pictures", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (memory < 0) return -1;
    // A mapping of what was cut off would end the reader by SIGBUS.
    if (ftruncate(memory, size) == 0 && fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) return memory;
    int kept = errno;
    close(memory);
    errno = kept;
    return -1;
}

int sandbox_socket(const char *address, int port, int datagrams, int listens) {
    char service[8];
    struct addrinfo hints, *found = NULL;
    memset(&hints, 0, sizeof hints);
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    hints.ai_socktype = datagrams ? SOCK_DGRAM : SOCK_STREAM;
    snprintf(service, sizeof service, "%d", port);
    if (getaddrinfo(address, service, &hints, &found) != 0 || !found) {
        errno = EINVAL;
        return -1;
    }
    int type = hints.ai_socktype | SOCK_CLOEXEC | (datagrams ? 0 : SOCK_NONBLOCK);
    int made = above_standard(socket(found->ai_family, type, 0));
    int result = -1;
    if (made >= 0)
        result = listens ? bind(made, found->ai_addr, found->ai_addrlen) : connect(made, found->ai_addr, found->ai_addrlen);
    int kept = errno;
    freeaddrinfo(found);
    if (made >= 0 && (result == 0 || kept == EINPROGRESS)) return made;
    if (made >= 0) close(made);
    errno = kept;
    return -1;
}

int sandbox_socket_error(int socket) {
    int error = 0;
    socklen_t size = sizeof error;
    return getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

// Room for descriptors beside a message's bytes.
union descriptors {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(int) * SANDBOX_DESCRIPTORS)];
};

// A message of one piece of bytes, with `control` of `size` bytes beside it.
static struct msghdr one_piece(struct iovec *part, union descriptors *control, size_t size) {
    struct msghdr message;
    memset(&message, 0, sizeof message);
    message.msg_iov = part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = size;
    return message;
}

long sandbox_send(int channel, const void *bytes, long size, const int *descriptors, int count) {
    if (count > SANDBOX_DESCRIPTORS) {
        errno = EINVAL;
        return -1;
    }
    if (count > 0) {
        struct iovec part = {(void *)bytes, size};
        union descriptors control;
        memset(&control, 0, sizeof control);
        struct msghdr message = one_piece(&part, &control, CMSG_SPACE(sizeof(int) * count));
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int) * count);
        memcpy(CMSG_DATA(header), descriptors, sizeof(int) * count);
        return sendmsg(channel, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    // The process without rights may send, but not by sendmsg(2).
    return send(channel, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
}

long sandbox_receive(int channel, void *bytes, long size, int *descriptors, int *count) {
    int room = count ? *count : 0;
    if (count) *count = 0;
    if (room <= 0) return recv(channel, bytes, size, MSG_DONTWAIT);
    struct iovec part = {bytes, size};
    union descriptors control;
    struct msghdr message = one_piece(&part, &control, sizeof control);
    long received = recvmsg(channel, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (received < 0) return received;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        int got = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (int index = 0; index < got; index++) {
            int descriptor;
            memcpy(&descriptor, CMSG_DATA(header) + index * sizeof(int), sizeof descriptor);
            if (*count < room) descriptors[(*count)++] = descriptor;
            else close(descriptor);
        }
    }
    return received;
}

int sandbox_allow_time(int process, long seconds) {
    clockid_t clock;
    struct timespec used;
    struct rlimit limits;
    if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &used) != 0) return -1;
    if (prlimit(process, RLIMIT_CPU, NULL, &limits) != 0) return -1;
    limits.rlim_cur = used.tv_sec + seconds;
    return prlimit(process, RLIMIT_CPU, &limits, NULL);
}
