// Embeds the files of layouts/, for a server that is started without that folder. The compiler records them as
// dependencies of this file, so that a change to one is in the next build.
#include "CLayouts.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char grid[] = {
#embed "../../layouts/grid.json"
};
static const unsigned char speaker[] = {
#embed "../../layouts/speaker.json"
};
static const unsigned char presentation[] = {
#embed "../../layouts/presentation.json"
};
static const unsigned char picture_in_picture[] = {
#embed "../../layouts/picture-in-picture.json"
};
static const unsigned char single[] = {
#embed "../../layouts/single.json"
};
static const unsigned char side_by_side[] = {
#embed "../../layouts/side-by-side.json"
};

#define LAYOUT(name, json) {name, json, sizeof json}

static const struct layout_file files[] = {
    LAYOUT("grid", grid),
    LAYOUT("speaker", speaker),
    LAYOUT("presentation", presentation),
    LAYOUT("picture-in-picture", picture_in_picture),
    LAYOUT("single", single),
    LAYOUT("side-by-side", side_by_side),
};

size_t layout_file_count(void) { return sizeof files / sizeof files[0]; }
struct layout_file layout_file_at(size_t index) { return files[index]; }
