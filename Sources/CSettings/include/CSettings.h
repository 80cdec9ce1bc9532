#ifndef CSETTINGS_H
#define CSETTINGS_H

#include <stddef.h>

/// Every key with its default, as YAML in comments. Not terminated: `settings_count` bytes.
const unsigned char *_Nonnull settings_text(void);
size_t settings_count(void);

#endif
