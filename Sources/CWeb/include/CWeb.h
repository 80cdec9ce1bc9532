#ifndef CWEB_H
#define CWEB_H

#include <stddef.h>

/// One file of the web client, as it was when the program was built.
struct web_asset {
    const char *_Nonnull name;
    const unsigned char *_Nonnull bytes;
    size_t count;
};

/// How many there are.
size_t web_asset_count(void);
/// The one at `index`, which is less than their count.
struct web_asset web_asset_at(size_t index);

#endif
