import CPango

/// Small drawings made of paths, without an icon font or image files.
enum Marks {
    static func roundedRectangle(
        _ cairo: OpaquePointer, _ x: Double, _ y: Double, _ width: Double, _ height: Double, radius: Double
    ) {
        cairo_new_sub_path(cairo)
        cairo_arc(cairo, x + width - radius, y + radius, radius, -.pi / 2, 0)
        cairo_arc(cairo, x + width - radius, y + height - radius, radius, 0, .pi / 2)
        cairo_arc(cairo, x + radius, y + height - radius, radius, .pi / 2, .pi)
        cairo_arc(cairo, x + radius, y + radius, radius, .pi, 3 * .pi / 2)
        cairo_close_path(cairo)
    }

    /// Draws a sign of a label in a square with this upper left corner and side.
    typealias Sign = (_ cairo: OpaquePointer, _ x: Double, _ y: Double, _ size: Double) -> Void

    /// A screen on its stand: the picture is a shared one. Every language reads it.
    static func screen(_ colour: Colour) -> Sign {
        { cairo, x, y, size in
            cairo_save(cairo)
            cairo_translate(cairo, x, y)
            cairo_scale(cairo, size, size)
            colour.set(on: cairo)
            cairo_set_line_width(cairo, 0.1)
            cairo_set_line_cap(cairo, CAIRO_LINE_CAP_ROUND)
            roundedRectangle(cairo, 0.05, 0.12, 0.9, 0.58, radius: 0.1)
            cairo_stroke(cairo)
            cairo_move_to(cairo, 0.5, 0.7)
            cairo_line_to(cairo, 0.5, 0.9)
            cairo_move_to(cairo, 0.28, 0.92)
            cairo_line_to(cairo, 0.72, 0.92)
            cairo_stroke(cairo)
            cairo_restore(cairo)
        }
    }

    /// A red microphone with a stroke through it.
    static func mutedMicrophone(_ cairo: OpaquePointer, _ x: Double, _ y: Double, _ size: Double) {
        cairo_save(cairo)
        cairo_translate(cairo, x, y)
        cairo_scale(cairo, size, size)
        cairo_set_source_rgb(cairo, 1, 0.42, 0.40)
        cairo_set_line_cap(cairo, CAIRO_LINE_CAP_ROUND)
        roundedRectangle(cairo, 0.36, 0.04, 0.28, 0.54, radius: 0.14)
        cairo_fill(cairo)
        cairo_set_line_width(cairo, 0.09)
        cairo_arc(cairo, 0.5, 0.46, 0.27, 0.1, .pi - 0.1)
        cairo_stroke(cairo)
        cairo_move_to(cairo, 0.5, 0.74)
        cairo_line_to(cairo, 0.5, 0.93)
        cairo_stroke(cairo)
        cairo_set_line_width(cairo, 0.11)
        cairo_move_to(cairo, 0.12, 0.08)
        cairo_line_to(cairo, 0.88, 0.92)
        cairo_stroke(cairo)
        cairo_restore(cairo)
    }

    /// A raised hand on an amber disc.
    static func hand(_ cairo: OpaquePointer, size: Double) {
        cairo_save(cairo)
        cairo_scale(cairo, size, size)
        cairo_arc(cairo, 0.5, 0.5, 0.5, 0, 2 * .pi)
        cairo_set_source_rgb(cairo, 0.98, 0.74, 0.18)
        cairo_fill(cairo)
        cairo_set_source_rgb(cairo, 0.16, 0.12, 0.04)
        cairo_set_line_cap(cairo, CAIRO_LINE_CAP_ROUND)
        cairo_set_line_width(cairo, 0.085)
        // Four fingers and the thumb.
        for (x, top) in [(0.355, 0.30), (0.455, 0.22), (0.555, 0.24), (0.65, 0.33)] {
            cairo_move_to(cairo, x, 0.56)
            cairo_line_to(cairo, x, top)
            cairo_stroke(cairo)
        }
        cairo_move_to(cairo, 0.36, 0.66)
        cairo_line_to(cairo, 0.245, 0.52)
        cairo_stroke(cairo)
        roundedRectangle(cairo, 0.313, 0.48, 0.38, 0.32, radius: 0.13)
        cairo_fill(cairo)
        cairo_restore(cairo)
    }

    /// The dot of a recording, crossed out, on a dark disc.
    static func notRecorded(_ cairo: OpaquePointer, size: Double) {
        cairo_save(cairo)
        cairo_scale(cairo, size, size)
        cairo_arc(cairo, 0.5, 0.5, 0.5, 0, 2 * .pi)
        cairo_set_source_rgba(cairo, 0.05, 0.06, 0.08, 0.85)
        cairo_fill(cairo)
        cairo_arc(cairo, 0.5, 0.5, 0.22, 0, 2 * .pi)
        cairo_set_source_rgb(cairo, 1, 0.42, 0.40)
        cairo_fill(cairo)
        cairo_set_line_cap(cairo, CAIRO_LINE_CAP_ROUND)
        // The dark line parts the light one from the dot.
        for (width, light) in [(0.2, 0.08), (0.09, 1.0)] {
            cairo_set_line_width(cairo, width)
            cairo_set_source_rgb(cairo, light, light, light)
            cairo_move_to(cairo, 0.24, 0.24)
            cairo_line_to(cairo, 0.76, 0.76)
            cairo_stroke(cairo)
        }
        cairo_restore(cairo)
    }

    /// Three dots on a dark pill, the mark of a frozen picture.
    static func dots(_ cairo: OpaquePointer, width: Double, height: Double) {
        roundedRectangle(cairo, 0, 0, width, height, radius: height / 2)
        cairo_set_source_rgba(cairo, 0.05, 0.06, 0.08, 0.7)
        cairo_fill(cairo)
        cairo_set_source_rgb(cairo, 1, 1, 1)
        for index in 0..<3 {
            cairo_arc(cairo, width / 2 + Double(index - 1) * height * 0.42, height / 2, height * 0.11, 0, 2 * .pi)
            cairo_fill(cairo)
        }
    }
}

extension Colour {
    func set(on cairo: OpaquePointer, opacity: Double = 1) {
        cairo_set_source_rgba(cairo, Double(red) / 255, Double(green) / 255, Double(blue) / 255, opacity)
    }
}
