// The files of Sources/Gateway/Web: three lines here bring one in, and ASSET names it. The compiler notes them as
// dependencies of this file, so that the next build takes up a change to one.
#include "CWeb.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char index_html[] = {
#embed "../Gateway/Web/index.html"
};

#define ASSET(name, bytes) {name, bytes, sizeof bytes}

static const struct web_asset assets[] = {
    ASSET("index.html", index_html),
};

size_t web_asset_count(void) { return sizeof assets / sizeof assets[0]; }
struct web_asset web_asset_at(size_t index) { return assets[index]; }
