// What takes a process its rights: a filter of system calls (seccomp(2)), limits (setrlimit(2)), and sockets that are
// handed to it, since it may make none. Linux on x86-64 and arm64.
#ifndef CSANDBOX_H
#define CSANDBOX_H
#include <stdint.h>

/// What a process may do beside computing, reading and writing.
enum {
    /// Start threads, which libsrt does with each connection.
    SANDBOX_THREADS = 1,
    /// Send datagrams to any address: of a socket that waits for whoever calls.
    SANDBOX_ANY_PEER = 2,
};

/// One instruction of the filter: the layout of the system's `struct sock_filter`.
struct sandbox_step {
    uint16_t code;
    uint8_t if_true, if_false;
    uint32_t value;
};

/// The most instructions of a filter.
#define SANDBOX_STEPS 512

/// Writes the filter for the process `process`; returns the number of its instructions.
int sandbox_filter(struct sandbox_step steps[SANDBOX_STEPS], int rights, int process);

/// Gives all threads of the process no rights but these. `sockets` are what socket(2) returns from now on, one after the
/// other; they are connected already, so that connect(2) and bind(2) do nothing. `bytes` is the most private memory.
/// Returns 0 or an error number; then the process must not go on.
int sandbox_enter(int rights, const int *sockets, int count, uint64_t bytes);

/// Whether more sockets were asked for than there are: for another connection than the server made.
int sandbox_refused_socket(void);

/// A pair of connected stream sockets above the standard descriptors. Returns 0, or -1 with errno.
int sandbox_pair(int ends[2]);
/// Memory of `size` bytes that two processes share, which neither can make smaller; -1 with errno.
int sandbox_memory(long size);
/// A TCP or UDP socket that begins to connect to a numeric address, or that is bound to it (`listens`); -1 with errno.
int sandbox_socket(const char *address, int port, int datagrams, int listens);
/// The error of the attempt to connect; 0: it is connected.
int sandbox_socket_error(int socket);

/// Sends bytes, and duplicates of descriptors with the first of them, without waiting; as send(2).
long sandbox_send(int channel, const void *bytes, long size, const int *descriptors, int count);
/// The most descriptors of one message.
#define SANDBOX_DESCRIPTORS 8
/// Receives bytes, and descriptors that came with them, without waiting; as recv(2). Of `*count` at first the room.
long sandbox_receive(int channel, void *bytes, long size, int *descriptors, int *count);

/// Lets another process use `seconds` of processor time more than it has used; the system ends it beyond.
int sandbox_allow_time(int process, long seconds);
#endif
