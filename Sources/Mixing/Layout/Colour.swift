/// An opaque colour, convertible to the canvas's colour space (BT.601, limited range, as WebRTC peers expect).
package struct Colour: Hashable, Sendable {
    package var red, green, blue: UInt8

    package init(red: UInt8, green: UInt8, blue: UInt8) {
        self.red = red
        self.green = green
        self.blue = blue
    }

    init(_ rgb: UInt32) {
        self.init(red: UInt8(rgb >> 16 & 0xFF), green: UInt8(rgb >> 8 & 0xFF), blue: UInt8(rgb & 0xFF))
    }

    /// The background of the shipped layouts: a dark bluish grey.
    package static let canvas = Colour(red: 0x14, green: 0x17, blue: 0x1C)

    /// Parses `#rrggbb`; nil for anything else.
    package init?(hexadecimal text: String) {
        guard text.utf8.count == 7, text.hasPrefix("#"), text.dropFirst().allSatisfy(\.isHexDigit),
            let value = UInt32(text.dropFirst(), radix: 16)
        else { return nil }
        self.init(value)
    }

    /// Y, U and V in 8 bits, limited range (ITU-R BT.601 §2.5.3 with the usual 8-bit integer coefficients).
    package var yuv: (y: UInt8, u: UInt8, v: UInt8) {
        let r = Int(red), g = Int(green), b = Int(blue)
        return (
            UInt8(clamping: (66 * r + 129 * g + 25 * b + 128) >> 8 + 16),
            UInt8(clamping: (-38 * r - 74 * g + 112 * b + 128) >> 8 + 128),
            UInt8(clamping: (112 * r - 94 * g - 18 * b + 128) >> 8 + 128)
        )
    }

    /// One of twelve muted colours on which white text is readable; the same name always has the same colour.
    package static func forName(_ name: String) -> Colour {
        // FNV-1a, because Swift's own hash differs from process to process.
        var hash: UInt32 = 2_166_136_261
        for byte in name.utf8 { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
        return named[Int((hash ^ hash >> 16) % UInt32(named.count))]
    }

    static let named: [Colour] = [
        Colour(0x3B6FB6), Colour(0x2E8B6F), Colour(0xA4568F), Colour(0xB8652F), Colour(0x6C5FC7), Colour(0x2F8FA3),
        Colour(0xB34A55), Colour(0x5E8C31), Colour(0x8A6BBE), Colour(0xA07A1F), Colour(0x4877A8), Colour(0x9C5A3C),
    ]
}
