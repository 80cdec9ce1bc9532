#ifndef CWEB_H
#define CWEB_H

#include <stddef.h>

/// One file of the web client, as it was when the program was built.
struct web_asset {
    const char *_Nonnull name;
    const unsigned char *_Nonnull bytes;
    size_t count;
};

/// All of them.
extern const struct web_asset web_assets[];
extern const size_t web_assets_count;

#endif
