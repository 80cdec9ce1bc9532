import Foundation

/// Small media files of ffmpeg 5.1: `taken-CODEC` are played, `refused-CODEC` are not.
enum Media {
    static let folder = Bundle.module.resourcePath.map { $0 + "/Fixtures" } ?? ""
    static let names = ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()
    static let taken = names.filter { $0.hasPrefix("taken-") }
    static let refused = names.filter { $0.hasPrefix("refused-") }

    /// The codec in the name of a file.
    static func codec(of name: String) -> String {
        String(name.split(separator: ".")[0].split(separator: "-")[1])
    }
}
