import Foundation

@testable import Peer

/// Offers as real browsers and libraries made them.
enum SDPFixtures {
    static let names: [String] = {
        let path = Bundle.module.resourcePath.map { $0 + "/Fixtures" } ?? ""
        let files = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        return files.filter { $0.hasSuffix(".sdp") }.map { String($0.dropLast(4)) }.sorted()
    }()

    /// Those that a room answers: all but the AV1- and VP9-only ones.
    static let answerable = names.filter { !unanswerable.contains($0) }
    static let unanswerable = ["chromium156-av-av1-only", "chromium156-av-vp9-only"]

    static func text(_ name: String) throws -> String {
        guard let url = Bundle.module.url(forResource: name, withExtension: "sdp", subdirectory: "Fixtures") else {
            throw CocoaError(.fileNoSuchFile)
        }
        return try String(contentsOf: url, encoding: .utf8)
    }

    static func parsed(_ name: String) throws -> SessionDescription { try SessionDescription(parsing: text(name)) }

    static func configuration(lite: Bool = true) -> NegotiationConfiguration {
        NegotiationConfiguration(
            fingerprint: Fingerprint(algorithm: "sha-256", bytes: Array(0..<32)), isIceLite: lite,
            candidates: [
                "candidate:1 1 udp 2130706431 203.0.113.5 4000 typ host",
                "candidate:2 1 tcp 1518280447 203.0.113.5 4000 typ host tcptype passive",
            ]
            .compactMap { Candidate(parsing: $0) },
            audioSSRC: 1001, videoSSRC: 2001, videoRTXSSRC: 2002, cname: "mix")
    }

    static let credentials = ICECredentials(ufrag: "SrvUfrag", password: "ServerPassword0123456789")
    static let otherCredentials = ICECredentials(ufrag: "NewUfrag", password: "AnotherPassword012345678")
}
