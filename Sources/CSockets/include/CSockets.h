// The GNU extensions and cmsg macros of Linux networking, which Swift's Glibc overlay does not have.
// _GNU_SOURCE is defined in the .c file only: here it would change <sys/select.h> for every other C module.
#ifndef CSOCKETS_H
#define CSOCKETS_H
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

/// Room for the control messages of one datagram: packet info of either family and a GSO segment size.
#define NET_CONTROL_SIZE 96
static const int kNetControlSize = NET_CONTROL_SIZE;

/// Makes the system report the destination address of each datagram (IP_PKTINFO / IPV6_RECVPKTINFO). Returns 0 on success.
int net_receive_packet_info(int fd, int family);

/// Reads the destination address, in network byte order, from a received datagram's control messages.
/// Returns the length of the address, 4 or 16, or 0 when there is none.
int net_destination(struct msghdr *message, uint8_t address[16]);

/// Writes the control messages of a datagram to send: the source address (4, 16 or 0 bytes) and, where `segment` > 0,
/// UDP_SEGMENT (the kernel splits the payload into datagrams of that size). Points `message` at `control`.
void net_set_control(struct msghdr *message, uint8_t *control, const uint8_t *source, int source_length, int segment);

/// Whether the system can split one write into datagrams (UDP_SEGMENT, Linux 4.18).
int net_can_segment(int fd);

/// Accepts a connection with a non-blocking descriptor. Glibc declares accept4's address as a union that Swift cannot make.
int net_accept(int fd, struct sockaddr_storage *remote);

/// One message of a batch: the layout of the system's `struct mmsghdr`.
struct net_message {
    struct msghdr msg_hdr;
    unsigned int msg_len;
};

/// recvmmsg(2) and sendmmsg(2) without waiting.
int net_receive_batch(int fd, struct net_message *messages, unsigned int count);
int net_send_batch(int fd, struct net_message *messages, unsigned int count);
#endif
