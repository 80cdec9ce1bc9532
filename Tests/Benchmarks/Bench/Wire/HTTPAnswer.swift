/// The response of an HTTP/1.1 server (RFC 9112).
struct HTTPAnswer: Sendable {
    var status: Int
    /// The header fields by name in lower case.
    var headers: [String: String]
    var body: [UInt8]

    var text: String { String(decoding: body, as: UTF8.self) }

    /// Parses all bytes of a connection; nil where they have no complete head.
    init?(_ bytes: [UInt8]) {
        guard let (answer, length) = Self.head(of: bytes) else { return nil }
        self = answer
        let rest = bytes[length...]
        body = headers["transfer-encoding"]?.lowercased() == "chunked" ? Self.joined(rest) : Array(rest)
    }

    private init(status: Int, headers: [String: String]) { (self.status, self.headers, body) = (status, headers, []) }

    /// Parses the head of a response, and returns its length; nil while it is incomplete.
    static func head(of bytes: [UInt8]) -> (answer: HTTPAnswer, length: Int)? {
        let mark: [UInt8] = [13, 10, 13, 10]
        guard let end = bytes.indices.first(where: { bytes[$0...].starts(with: mark) }) else { return nil }
        let lines = String(decoding: bytes[..<end], as: UTF8.self).split(separator: "\r\n")
        guard let status = lines.first?.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else { return nil }
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { continue }
            headers[parts[0].lowercased()] = String(parts[1].drop { $0 == " " })
        }
        return (HTTPAnswer(status: status, headers: headers), end + mark.count)
    }

    /// The body without the chunk sizes (§7.1).
    private static func joined(_ chunks: ArraySlice<UInt8>) -> [UInt8] {
        var rest = chunks
        var body: [UInt8] = []
        while let end = rest.firstIndex(of: 13) {
            let size = String(decoding: rest[..<end].prefix { $0 != UInt8(ascii: ";") }, as: UTF8.self)
            guard let count = Int(size, radix: 16), count > 0, rest.endIndex - end >= count + 2 else { break }
            body += rest[(end + 2)..<(end + 2 + count)]
            rest = rest[(end + 2 + count)...].dropFirst(2)
        }
        return body
    }
}
