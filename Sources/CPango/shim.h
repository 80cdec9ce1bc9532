#include <pango/pangocairo.h>
#include <cairo/cairo.h>
