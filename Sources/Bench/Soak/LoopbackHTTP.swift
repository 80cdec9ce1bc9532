import Basics
import Foundation
import Sockets

/// Plain HTTP to a server on this machine, one connection for each request: no pool of connections stands in the server's tables.
struct LoopbackHTTP: Sendable {
    struct Answer: Sendable {
        var status: Int
        /// Names in lower case.
        var headers: [String: String]
        var body: [UInt8]

        var text: String { String(decoding: body, as: UTF8.self) }
    }

    /// How long one answer may take.
    private static let patience = timeval(tv_sec: 20, tv_usec: 0)

    let port: UInt16

    func request(
        _ method: String, _ path: String, headers: [String: String] = [:], body: String = ""
    ) async throws -> Answer {
        var head = "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\nContent-Length: \(body.utf8.count)\r\n"
        for (name, value) in headers { head += "\(name): \(value)\r\n" }
        let request = Array((head + "\r\n" + body).utf8)
        return try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(with: Result { try exchange(request, "\(method) \(path)") })
            }
        }
    }

    /// Blocks.
    private func exchange(_ request: [UInt8], _ what: String) throws -> Answer {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw BenchError("\(what): no socket") }
        defer { close(descriptor) }
        var patience = Self.patience
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let connected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
        guard connected == 0 else { throw BenchError("\(what): nobody answers on port \(port)") }
        var sent = 0
        while sent < request.count {
            let count = request[sent...].withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { throw BenchError("\(what): the connection broke while sending") }
            sent += count
        }
        var received: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count == 0 { break }
            guard count > 0 else { throw BenchError("\(what): no whole answer within \(Self.patience.tv_sec) s") }
            received += buffer[..<count]
        }
        guard let answer = Self.parse(received) else { throw BenchError("\(what): what came back is no HTTP") }
        return answer
    }

    static func parse(_ bytes: [UInt8]) -> Answer? {
        let separator: [UInt8] = [13, 10, 13, 10]
        guard let end = bytes.indices.first(where: { bytes[$0...].starts(with: separator) }) else { return nil }
        let lines = String(decoding: bytes[..<end], as: UTF8.self).components(separatedBy: "\r\n")
        let words = lines[0].split(separator: " ")
        guard words.count >= 2, let status = Int(words[1]) else { return nil }
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { continue }
            headers[line[..<colon].lowercased()] = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
        }
        let body = bytes[(end + separator.count)...]
        let isChunked = headers["transfer-encoding"]?.lowercased() == "chunked"
        return Answer(status: status, headers: headers, body: isChunked ? joined(body) : Array(body))
    }

    /// The chunks of a body without their sizes (RFC 9112 §7.1).
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
