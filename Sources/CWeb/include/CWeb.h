#ifndef CWEB_H
#define CWEB_H

#include <stddef.h>

/// One file of the web client, with its content at build time.
struct web_asset {
    const char *_Nonnull name;
    const unsigned char *_Nonnull bytes;
    size_t count;
};

/// The number of files.
size_t web_asset_count(void);
/// The file at `index`, which must be less than the number of files.
struct web_asset web_asset_at(size_t index);

#endif
