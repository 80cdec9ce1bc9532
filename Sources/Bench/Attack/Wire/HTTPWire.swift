import Basics
import Sockets

/// What an HTTP server said.
struct HTTPAnswer {
    var status: Int
    /// By name in lower case.
    var headers: [String: String]
    var body: [UInt8]

    var text: String { String(decoding: body, as: UTF8.self) }
}

/// HTTP/1.1 by hand, a connection for each request: nothing stands between an attack and the bytes it sends.
struct HTTPWire {
    var server: SocketAddress
    /// Whose requests these are.
    var source: IPAddress

    func head(_ method: String, _ path: String, _ headers: [(String, String)] = [], length: Int? = nil) -> String {
        var lines = ["\(method) \(path) HTTP/1.1"]
        if !headers.contains(where: { $0.0 == "Host" }) { lines.append("Host: \(server)") }
        lines += headers.map { "\($0.0): \($0.1)" }
        if let length { lines.append("Content-Length: \(length)") }
        return lines.joined(separator: "\r\n") + "\r\n\r\n"
    }

    func request(
        _ method: String, _ path: String, headers: [(String, String)] = [], body: [UInt8]? = nil, timeout: Duration = .seconds(5)
    ) throws(WireError) -> HTTPAnswer {
        let socket = try StreamSocket(to: server, from: source, timeout: timeout)
        let text = head(method, path, headers + [("Connection", "close")], length: body?.count)
        try socket.send(Array(text.utf8) + (body ?? []), timeout: timeout)
        return try Self.answer(on: socket, timeout: timeout)
    }

    /// JSON in the body.
    func request(_ method: String, _ path: String, json: String, headers: [(String, String)] = []) throws(WireError) -> HTTPAnswer {
        try request(method, path, headers: headers + [("Content-Type", "application/json")], body: Array(json.utf8))
    }

    /// Reads one answer to its end.
    static func answer(on socket: StreamSocket, timeout: Duration) throws(WireError) -> HTTPAnswer {
        let end = MonotonicClock.now() + timeout
        var bytes: [UInt8] = []
        var parsed: (answer: HTTPAnswer, start: Int)?
        while true {
            if parsed == nil { parsed = parse(bytes) }
            if let parsed, let length = parsed.answer.headers["content-length"].flatMap({ Int($0) }), bytes.count >= parsed.start + length {
                break
            }
            let left = end - MonotonicClock.now()
            guard left > .zero else { throw WireError("no answer within \(Int(timeout.inSeconds)) s") }
            guard let more = socket.receive(timeout: left) else { break }
            bytes += more
        }
        guard let (head, start) = parsed ?? parse(bytes) else { throw WireError("closed without an answer") }
        var answer = head
        answer.body = Array(bytes[start...])
        return answer
    }

    private static func parse(_ bytes: [UInt8]) -> (answer: HTTPAnswer, start: Int)? {
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
        return (HTTPAnswer(status: status, headers: headers, body: []), end + 4)
    }
}
