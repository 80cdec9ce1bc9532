// Embeds the file of settings of the Debian package, which `tessera settings` prints.
#include "CSettings.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char text[] = {
#embed "../../scripts/deploy/debian/tessera.yaml"
};

const unsigned char *settings_text(void) { return text; }
size_t settings_count(void) { return sizeof text; }
