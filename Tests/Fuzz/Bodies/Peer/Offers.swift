import Foundation

@testable import Peer

/// Offers of real browsers and libraries, from the fixtures of the unit tests.
enum Offers {
    /// The folder relative to this source: fuzzers and tests run on the machine that built them.
    private static let folder = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../../PeerTests/Fixtures")
        .standardizedFileURL

    static let all: [(name: String, text: String)] = {
        let files = (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
        return files.filter { $0.pathExtension == "sdp" }.sorted { $0.path < $1.path }.compactMap { file in
            (try? String(contentsOf: file, encoding: .utf8)).map {
                (file.deletingPathExtension().lastPathComponent, $0)
            }
        }
    }()

    static func text(_ name: String) -> String? { all.first { $0.name == name }?.text }
}

/// The certificates of both ends: generating keys is slow, so all inputs of a process share them.
enum Identities {
    static let ours = Result { try DTLSIdentity.generate() }
    static let theirs = Result { try DTLSIdentity.generate() }
}
