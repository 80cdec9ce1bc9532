import CPango
import Codecs

extension Overlay {
    /// A layout's picture, scaled to a frame of this size.
    convenience init?(of image: LayoutImage, width: Int, height: Int) {
        self.init(width: width, height: height) { cairo in
            Self.paint(
                image.picture, on: cairo, width: Double(width), height: Double(height),
                covers: image.fit == .cover, opacity: image.opacity)
        }
    }

    /// Draws a picture into the rectangle from the origin, whole and centred, or cropped to fill it.
    static func paint(
        _ picture: StillImage, on cairo: OpaquePointer, width: Double, height: Double, covers: Bool, opacity: Double = 1
    ) {
        picture.pixels.withUnsafeBufferPointer { pixels in
            // Cairo takes a mutable pointer, and does not write to the source of a painting.
            guard
                let surface = cairo_image_surface_create_for_data(
                    UnsafeMutablePointer(mutating: pixels.baseAddress), CAIRO_FORMAT_ARGB32, Int32(picture.width),
                    Int32(picture.height),
                    Int32(picture.width * 4))
            else { return }
            defer { cairo_surface_destroy(surface) }
            let (across, down) = (width / Double(picture.width), height / Double(picture.height))
            let scale = covers ? max(across, down) : min(across, down)
            cairo_save(cairo)
            cairo_rectangle(cairo, 0, 0, width, height)
            cairo_clip(cairo)
            cairo_translate(
                cairo, (width - Double(picture.width) * scale) / 2, (height - Double(picture.height) * scale) / 2)
            cairo_scale(cairo, scale, scale)
            cairo_set_source_surface(cairo, surface, 0, 0)
            cairo_pattern_set_filter(cairo_get_source(cairo), CAIRO_FILTER_GOOD)
            cairo_paint_with_alpha(cairo, opacity)
            cairo_restore(cairo)
            cairo_surface_finish(surface)
        }
    }
}
