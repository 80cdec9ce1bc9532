import Foundation

/// The path of a directory of a test's own, which is removed with what is in it when the object goes.
package final class ScratchDirectory: Sendable {
    package let path: String

    /// - Parameter isMade: false leaves the directory to be made by what is tested.
    package init(isMade: Bool = true) {
        path = NSTemporaryDirectory() + "tessera-" + UUID().uuidString
        if isMade { try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// The path of a file in the directory.
    package func file(_ name: String) -> String { path + "/" + name }

    /// The names of its files, sorted.
    package var files: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }
}
