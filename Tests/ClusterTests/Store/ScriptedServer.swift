import Basics
import Glibc
import TestSupport
import Threads

/// An HTTP server of a few lines that answers as a test says, one request a connection.
final class ScriptedServer: Sendable {
    struct Request: Sendable {
        var path: String
        var head: String
        var body: String
    }

    let url: String
    private let listener: Int32
    private let seen = Guarded<[Request]>([])

    var requests: [Request] { seen.withLock { $0 } }

    /// - Parameter answer: the whole answer; nil: it never comes.
    init(_ answer: @escaping @Sendable (Request) -> String?) {
        let socket = LoopbackSocket()
        let listener = socket.descriptor
        listen(listener, 16)
        self.listener = listener
        url = "http://127.0.0.1:\(socket.port)"
        let seen = seen
        DedicatedThread.start("scripted") {
            var waiting: [Int32] = []
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0 else { break }
                guard let request = Self.read(client) else {
                    close(client)
                    continue
                }
                seen.withLock { $0.append(request) }
                guard let text = answer(request) else {
                    waiting.append(client)
                    continue
                }
                // The client closes where it has enough.
                let bytes = Array(text.utf8)
                var sent = 0
                while sent < bytes.count {
                    let count = bytes[sent...].withUnsafeBytes {
                        send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                    }
                    guard count > 0 else { break }
                    sent += count
                }
                close(client)
            }
            for client in waiting { close(client) }
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    static func json(_ body: String, status: String = "200 OK") -> String {
        "HTTP/1.1 \(status)\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)"
    }

    private static func read(_ client: Int32) -> Request? {
        var text = ""
        while true {
            var buffer = [UInt8](repeating: 0, count: 1 << 14)
            let count = recv(client, &buffer, buffer.count, 0)
            guard count > 0 else { return nil }
            text += String(decoding: buffer.prefix(count), as: UTF8.self)
            guard let end = text.firstRange(of: "\r\n\r\n") else { continue }
            let head = String(text[..<end.lowerBound])
            let body = String(text[end.upperBound...])
            let field = head.lowercased().split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
            let length = field.flatMap { Int($0.dropFirst(15).drop { $0 == " " }) } ?? 0
            guard body.utf8.count >= length else { continue }
            let path = head.split(separator: " ").dropFirst().first.map(String.init) ?? ""
            return Request(path: path, head: head, body: body)
        }
    }
}
