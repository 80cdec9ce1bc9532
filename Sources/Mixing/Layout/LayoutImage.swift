package import Codecs

/// A picture of a layout, such as a logo: a PNG or JPEG file of the layouts directory.
package struct LayoutImage: Hashable, Sendable {
    package enum Fit: String, Hashable, Sendable, CaseIterable {
        /// The whole picture.
        case contain
        /// The picture fills its frame and is cropped evenly.
        case cover
    }

    /// The name of the file.
    package var file: String
    package var picture: StillImage
    package var fit: Fit
    /// 0…1.
    package var opacity: Double
    /// Whether the picture lies behind all tiles.
    package var isBehind: Bool

    /// What a file may cost: 16 million pixels are a picture of 4096×4096.
    package static let limits = StillImage.Limits(bytes: 4 << 20, pixels: 1 << 24, side: 1920)

    /// Whether a file can have this name: 1 to 100 of letters, digits, `.`, `_` and `-`, so that it is inside the
    /// directory, and one of the known endings.
    static func isFile(_ name: String) -> Bool {
        let ending = name.lowercased()
        return (1...100).contains(name.utf8.count) && !name.hasPrefix(".")
            && [".png", ".jpg", ".jpeg"].contains { ending.hasSuffix($0) }
            && name.unicodeScalars.allSatisfy { scalar in
                scalar.isASCII && (scalar.properties.isAlphabetic || "0123456789._-".unicodeScalars.contains(scalar))
            }
    }
}
