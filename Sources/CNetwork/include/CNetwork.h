#ifndef CNETWORK_H
#define CNETWORK_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sys/socket.h>
#endif
