/// Brings an offer into a frame that the clients can read.
///
/// A client handles what one read returns as one frame. A read that ends one to four bytes before a frame's end crashes
/// it, and a read of the frame's first bytes only makes it drop the frame. So a frame should be one TCP segment.
enum RawTCPOfferSize {
    /// The most bytes of a frame that fit into one segment on usual paths: Ethernet's 1500, less the headers of IPv6 and
    /// TCP with timestamps (1428), less those of a tunnel.
    static let segment = 1400
    /// Maximum segment sizes of Ethernet with IPv4 and IPv6, each with and without TCP timestamps, and the value of
    /// `segment`; beside the connection's own.
    static let usualSegments = [1460, 1448, 1440, 1428, 1400]

    /// The JSON of an offer.
    ///
    /// - Parameters:
    ///   - maximumSegment: the connection's own (TCP_MAXSEG); nil where it is unknown.
    static func json(offer sdp: String, to client: Int, maximumSegment: Int?) -> [UInt8] {
        var lines = sdp.split(whereSeparator: \.isNewline)
        var json = Self.json(lines, client)
        // The last candidates are the least preferred ones; TCP candidates come behind all of UDP. Two addresses are
        // enough for a client that finds the server by one.
        while RawTCPFrame.size(json: json.count) > segment, let last = lines.lastIndex(where: isCandidate),
            lines.count(where: isCandidate) > 2
        {
            lines.remove(at: last)
            json = Self.json(lines, client)
        }
        return padded(json, maximumSegment: maximumSegment)
    }

    /// Lines end in LF alone (RFC 8866 §5 asks parsers to take it): CRLF has four bytes in JSON.
    private static func json(_ lines: [Substring], _ client: Int) -> [UInt8] {
        RawTCPReply.offer(sdp: lines.map { $0 + "\n" }.joined()).json(to: client)
    }

    private static func isCandidate(_ line: Substring) -> Bool { line.hasPrefix("a=candidate:") }

    /// Adds spaces behind the JSON until no segment size leaves one to four bytes for the last segment.
    static func padded(_ json: [UInt8], maximumSegment: Int?) -> [UInt8] {
        guard RawTCPFrame.size(json: json.count) > segment else { return json }
        let segments = usualSegments + [maximumSegment].compactMap { $0 }.filter { $0 > 8 }
        var json = json
        while segments.contains(where: { (1...4).contains(RawTCPFrame.size(json: json.count) % $0) }),
            json.count < RawTCPFrame.maxJSON
        {
            json.append(UInt8(ascii: " "))
        }
        return json
    }
}
