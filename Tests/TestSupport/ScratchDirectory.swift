import Foundation

/// The path of a temporary directory of one test, which is removed with its contents when the object ends.
package final class ScratchDirectory: Sendable {
    package let path: String

    /// - Parameter isMade: false: the tested code creates the directory.
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
