/// The body of a trickle PATCH, `application/trickle-ice-sdpfrag` (RFC 8840 §9): ICE credentials and candidates.
public struct SDPFragment: Sendable, Equatable {
    /// The media type of a fragment.
    public static let contentType = "application/trickle-ice-sdpfrag"
    /// The most candidates in one PATCH. A client with four addresses, UDP and TCP, STUN and TURN has about thirty in
    /// total.
    private static let maxCandidates = 50

    /// The sender's ICE user fragment, if the fragment has one.
    public private(set) var ufrag: String?
    /// The password of `ufrag`.
    public private(set) var password: String?
    /// `candidate:…` without `a=`.
    public private(set) var candidates: [String] = []
    /// Whether no further candidates follow.
    public private(set) var isComplete = false
    /// The first `m=` line and its `mid`, unchanged.
    private(set) var media: String?
    private(set) var mid: String?

    /// - Throws: ``SDPError`` with what to change.
    public init(parsing text: String) throws(SDPError) {
        for line in text.split(whereSeparator: \.isNewline) {
            if line.hasPrefix("m=") {
                if media == nil { media = String(line) }
                continue
            }
            guard line.hasPrefix("a=") else { throw SDPError("An sdpfrag has lines that begin with a= and m= only.") }
            let attribute = line.dropFirst(2)
            let name = attribute.prefix { $0 != ":" }
            let value = String(attribute.dropFirst(name.count + 1))
            switch name {
            // All sections share one transport (bundle), so the first pair of credentials counts.
            case "ice-ufrag":
                guard SDPFragment.isIceText(value, 4...256) else {
                    throw SDPError("ice-ufrag must have 4 to 256 characters of A-Z a-z 0-9 + /.")
                }
                ufrag = ufrag ?? value
            case "ice-pwd":
                guard SDPFragment.isIceText(value, 22...256) else {
                    throw SDPError("ice-pwd must have 22 to 256 characters of A-Z a-z 0-9 + /.")
                }
                password = password ?? value
            case "mid":
                mid = mid ?? value
            case "candidate":
                guard candidates.count < SDPFragment.maxCandidates, value.utf8.count <= 1024 else {
                    throw SDPError(
                        "More than \(SDPFragment.maxCandidates) candidates, or one over 1024 bytes. Send fewer.")
                }
                candidates.append(String(attribute))
            case "end-of-candidates":
                isComplete = true
            default:
                break
            }
        }
        guard ufrag != nil || !candidates.isEmpty || isComplete else {
            throw SDPError("The sdpfrag has neither credentials nor candidates.")
        }
    }

    /// The answer of an ICE-lite server to an ICE restart: its new credentials and candidates (`candidate:…`), in the
    /// client's first section.
    public func answer(ufrag: String, password: String, candidates: [String]) -> String {
        var lines = ["a=ice-lite", "a=ice-ufrag:\(ufrag)", "a=ice-pwd:\(password)"]
        lines.append(media ?? "m=audio 9 UDP/TLS/RTP/SAVPF 0")
        lines.append("a=mid:\(mid ?? "0")")
        lines += candidates.map { "a=\($0)" }
        lines.append("a=end-of-candidates")
        return lines.map { $0 + "\r\n" }.joined()
    }

    /// RFC 8839 §5.4.
    private static func isIceText(_ text: String, _ length: ClosedRange<Int>) -> Bool {
        length.contains(text.utf8.count)
            && text.utf8.allSatisfy {
                (48...57).contains($0) || (65...90).contains($0) || (97...122).contains($0) || $0 == 43 || $0 == 47
            }
    }
}
