// The files of Sources/Gateway/Web, each by its three lines here. The compiler notes them as dependencies of this file, so
// that a change to one is taken up by the next build.
#include "CWeb.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char index_html[] = {
#embed "../Gateway/Web/index.html"
};

#define ASSET(name, bytes) {name, bytes, sizeof bytes}

const struct web_asset web_assets[] = {
    ASSET("index.html", index_html),
};
const size_t web_assets_count = sizeof web_assets / sizeof web_assets[0];
