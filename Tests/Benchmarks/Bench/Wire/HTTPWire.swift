import Basics
import Dispatch
import Threads

/// HTTP/1.1 without a library, with a connection for each request: an attack determines every byte that it sends.
struct HTTPWire: Sendable {
    var server: SocketAddress
    /// The source address of the requests.
    var source: IPAddress

    func head(_ method: String, _ path: String, _ headers: [(String, String)] = [], length: Int? = nil) -> String {
        var lines = ["\(method) \(path) HTTP/1.1"]
        if !headers.contains(where: { $0.0 == "Host" }) { lines.append("Host: \(server)") }
        lines += headers.map { "\($0.0): \($0.1)" }
        if let length { lines.append("Content-Length: \(length)") }
        return lines.joined(separator: "\r\n") + "\r\n\r\n"
    }

    func request(
        _ method: String, _ path: String, headers: [(String, String)] = [], body: [UInt8]? = nil,
        timeout: Duration = .seconds(5)
    ) throws(WireError) -> HTTPAnswer {
        let socket = try StreamSocket(to: server, from: source, timeout: timeout)
        let text = head(method, path, headers + [("Connection", "close")], length: body?.count)
        try socket.send(Array(text.utf8) + (body ?? []), timeout: timeout)
        return try Self.answer(on: socket, timeout: timeout)
    }

    /// JSON in the body.
    func request(_ method: String, _ path: String, json: String, headers: [(String, String)] = []) throws(WireError)
        -> HTTPAnswer
    {
        try request(method, path, headers: headers + [("Content-Type", "application/json")], body: Array(json.utf8))
    }

    /// A request for asynchronous callers, which wait longer (20 s) for a busy server.
    func fetch(_ method: String, _ path: String, headers: [(String, String)] = [], body: String = "") async throws
        -> HTTPAnswer
    {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(
                    with: Result {
                        try request(method, path, headers: headers, body: Array(body.utf8), timeout: .seconds(20))
                    })
            }
        }
    }

    /// Reads one response to its end.
    static func answer(on socket: StreamSocket, timeout: Duration) throws(WireError) -> HTTPAnswer {
        let end = MonotonicClock.now() + timeout
        var bytes: [UInt8] = []
        var head: (answer: HTTPAnswer, length: Int)?
        while true {
            if head == nil { head = HTTPAnswer.head(of: bytes) }
            if let head, let body = head.answer.headers["content-length"].flatMap({ Int($0) }),
                bytes.count >= head.length + body
            {
                break
            }
            let left = end - MonotonicClock.now()
            guard left > .zero else { throw WireError("no answer within \(Int(timeout.inSeconds)) s") }
            guard let more = socket.receive(timeout: left) else { break }
            bytes += more
        }
        guard let answer = HTTPAnswer(bytes) else { throw WireError("closed without an answer") }
        return answer
    }
}
