#ifndef CLAYOUTS_H
#define CLAYOUTS_H

#include <stddef.h>

/// One of the shipped layouts, with its JSON at build time.
struct layout_file {
    const char *_Nonnull name;
    const unsigned char *_Nonnull json;
    size_t count;
};

/// The number of files.
size_t layout_file_count(void);
/// The file at `index`, which must be less than the number of files; the most common layout comes first.
struct layout_file layout_file_at(size_t index);

#endif
