#define _GNU_SOURCE
#include "CSockets.h"

#include <netinet/udp.h>
#include <string.h>

_Static_assert(sizeof(struct net_message) == sizeof(struct mmsghdr), "net_message must mirror mmsghdr");

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

int net_receive_packet_info(int fd, int family) {
    int on = 1;
    return family == AF_INET6 ? setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof on)
                              : setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof on);
}

int net_destination(struct msghdr *message, uint8_t address[16]) {
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
        if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
            struct in_pktinfo info;
            memcpy(&info, CMSG_DATA(c), sizeof info);
            memcpy(address, &info.ipi_addr, 4);
            return 4;
        }
        if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
            struct in6_pktinfo info;
            memcpy(&info, CMSG_DATA(c), sizeof info);
            memcpy(address, &info.ipi6_addr, 16);
            return 16;
        }
    }
    return 0;
}

void net_set_control(struct msghdr *message, uint8_t *control, const uint8_t *source, int source_length, int segment) {
    message->msg_control = control;
    message->msg_controllen = NET_CONTROL_SIZE;
    memset(control, 0, NET_CONTROL_SIZE);
    size_t used = 0;
    struct cmsghdr *c = CMSG_FIRSTHDR(message);
    if (source_length == 4) {
        struct in_pktinfo info = {0};
        memcpy(&info.ipi_spec_dst, source, 4);
        c->cmsg_level = IPPROTO_IP;
        c->cmsg_type = IP_PKTINFO;
        c->cmsg_len = CMSG_LEN(sizeof info);
        memcpy(CMSG_DATA(c), &info, sizeof info);
        used += CMSG_SPACE(sizeof info);
        c = CMSG_NXTHDR(message, c);
    } else if (source_length == 16) {
        struct in6_pktinfo info = {0};
        memcpy(&info.ipi6_addr, source, 16);
        c->cmsg_level = IPPROTO_IPV6;
        c->cmsg_type = IPV6_PKTINFO;
        c->cmsg_len = CMSG_LEN(sizeof info);
        memcpy(CMSG_DATA(c), &info, sizeof info);
        used += CMSG_SPACE(sizeof info);
        c = CMSG_NXTHDR(message, c);
    }
    if (segment > 0 && c) {
        uint16_t size = (uint16_t)segment;
        c->cmsg_level = IPPROTO_UDP;
        c->cmsg_type = UDP_SEGMENT;
        c->cmsg_len = CMSG_LEN(sizeof size);
        memcpy(CMSG_DATA(c), &size, sizeof size);
        used += CMSG_SPACE(sizeof size);
    }
    message->msg_controllen = used;
    if (used == 0) message->msg_control = NULL;
}

int net_can_segment(int fd) {
    int size = 0;
    socklen_t length = sizeof size;
    return getsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &size, &length) == 0;
}

int net_accept(int fd, struct sockaddr_storage *remote) {
    socklen_t length = sizeof *remote;
    return accept4(fd, (struct sockaddr *)remote, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

int net_receive_batch(int fd, struct net_message *messages, unsigned int count) {
    return recvmmsg(fd, (struct mmsghdr *)messages, count, MSG_DONTWAIT, NULL);
}

int net_send_batch(int fd, struct net_message *messages, unsigned int count) {
    return sendmmsg(fd, (struct mmsghdr *)messages, count, MSG_DONTWAIT);
}
