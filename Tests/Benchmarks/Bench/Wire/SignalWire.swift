import Basics
import Foundation
import Threads

/// A client of `/signal` without a library (RFC 6455), which can send correct messages or an attack's bytes. Used by
/// one thread at a time.
final class SignalWire {
    enum Message {
        case text(String)
        case nothing
        /// The connection ended; with the last error of the server.
        case closed(String)
    }

    private let socket: StreamSocket
    private var pending: [UInt8] = []
    /// The last error that the server reported.
    private(set) var lastError = ""
    /// The values of the seat's `joined` message.
    private(set) var id = ""

    /// - Parameter headers: further ones, such as a proxy's.
    init(
        to server: SocketAddress, from source: IPAddress, headers: [(String, String)] = [],
        timeout: Duration = .seconds(5)
    ) throws(WireError) {
        socket = try StreamSocket(to: server, from: source, timeout: timeout)
        let head = HTTPWire(server: server, source: source).head(
            "GET", "/signal",
            [
                ("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13"),
                ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
            ] + headers)
        try socket.send(head, timeout: timeout)
        let end = MonotonicClock.now() + timeout
        while true {
            if let start = Self.headEnd(pending) {
                let status = String(decoding: pending.prefix(12), as: UTF8.self)
                guard status.hasSuffix("101") else { throw WireError("/signal: \(status)") }
                pending.removeFirst(start)
                return
            }
            let left = end - MonotonicClock.now()
            guard left > .zero else { throw WireError("/signal: no answer") }
            guard let more = socket.receive(timeout: left) else { throw WireError("/signal: closed without an answer") }
            pending += more
        }
    }

    private static func headEnd(_ bytes: [UInt8]) -> Int? {
        let mark: [UInt8] = [13, 10, 13, 10]
        return bytes.indices.first { bytes[$0...].starts(with: mark) }.map { $0 + 4 }
    }

    // MARK: - Sending

    /// The bytes of one frame. The masking key is zero, so that a large text is only copied.
    static func frame(_ text: [UInt8], opcode: UInt8 = 1) -> [UInt8] {
        var bytes: [UInt8] = [0x80 | opcode]
        switch text.count {
        case ..<126: bytes.append(0x80 | UInt8(text.count))
        case ..<65_536:
            bytes.append(0x80 | 126)
            bytes.append16(UInt16(text.count))
        default:
            bytes.append(0x80 | 127)
            bytes.append32(0)
            bytes.append32(UInt32(text.count))
        }
        return bytes + [0, 0, 0, 0] + text
    }

    func send(_ text: String) throws(WireError) { try socket.send(Self.frame(Array(text.utf8))) }
    func send(raw bytes: [UInt8], timeout: Duration = .seconds(5)) throws(WireError) {
        try socket.send(bytes, timeout: timeout)
    }

    func send(_ object: [String: Any]) throws(WireError) {
        guard let data = try? JSONSerialization.data(withJSONObject: object) else { throw WireError("no JSON") }
        try socket.send(Self.frame(Array(data)))
    }

    // MARK: - Receiving

    /// The next text message; pings are answered in between.
    func next(timeout: Duration) -> Message {
        let end = MonotonicClock.now() + timeout
        while true {
            while let (opcode, payload) = takeFrame() {
                switch opcode {
                case 1: return .text(String(decoding: payload, as: UTF8.self))
                case 8: return .closed(payload.count > 2 ? String(decoding: payload[2...], as: UTF8.self) : lastError)
                case 9: try? socket.send(Self.frame(payload, opcode: 10))
                default: break
                }
            }
            // Received data is read even when the timeout is zero.
            let left = end - MonotonicClock.now()
            guard let more = socket.receive(timeout: max(left, .zero)) else { return .closed(lastError) }
            if more.isEmpty, left <= .zero { return .nothing }
            pending += more
        }
    }

    private func takeFrame() -> (UInt8, [UInt8])? {
        guard pending.count >= 2 else { return nil }
        var start = 2
        var length = Int(pending[1] & 127)
        if length == 126 {
            guard pending.count >= 4 else { return nil }
            length = Int(pending[2]) << 8 | Int(pending[3])
            start = 4
        } else if length == 127 {
            guard pending.count >= 10 else { return nil }
            length = pending[2..<10].reduce(0) { ($0 & 0xFF_FFFF) << 8 | Int($1) }
            start = 10
        }
        guard pending.count >= start + length else { return nil }
        let opcode = pending[0] & 15
        let payload = Array(pending[start..<start + length])
        pending.removeFirst(start + length)
        return (opcode, payload)
    }

    /// Waits for a message of one type; other messages go to `others`. An `error` ends the wait if it is fatal, or with
    /// `strict`.
    func wait(
        for type: String, timeout: Duration = .seconds(5), strict: Bool = true,
        others: (String, [String: Any]) -> Void = { _, _ in }
    ) throws(WireError) -> [String: Any] {
        let end = MonotonicClock.now() + timeout
        while true {
            switch next(timeout: end - MonotonicClock.now()) {
            case .nothing: throw WireError("no \(type) within \(timeout.inSeconds) s")
            case .closed(let reason): throw WireError("sent away: \(reason)")
            case .text(let text):
                let object = Self.object(text)
                let kind = object["type"] as? String ?? ""
                if kind == type { return object }
                if kind == "error" {
                    lastError = "\(object["code"] as? String ?? "?"): \(object["message"] as? String ?? "")"
                    if strict || object["fatal"] as? Bool == true { throw WireError(lastError) }
                }
                if kind == "left" { throw WireError("sent away: \(object["reason"] as? String ?? "")") }
                others(kind, object)
            }
        }
    }

    static func object(_ text: String) -> [String: Any] {
        (try? JSONSerialization.jsonObject(with: Data(text.utf8))) as? [String: Any] ?? [:]
    }

    /// Reads and discards the received messages.
    func drain() {
        while case .text = next(timeout: .zero) {}
    }

    // MARK: - Joining

    /// Takes a seat. Messages before `joined` go to `others`.
    func join(_ room: String, as name: String, extra: [String: Any] = [:]) throws(WireError) {
        var message: [String: Any] = ["type": "join", "room": room, "name": name]
        message.merge(extra) { $1 }
        try send(message)
        let joined = try wait(for: "joined")
        id = (joined["you"] as? [String: Any])?["id"] as? String ?? ""
    }

    func answer(
        to offer: String, timeout: Duration = .seconds(5), others: (String, [String: Any]) -> Void = { _, _ in }
    ) throws(WireError) -> String {
        try send(["type": "offer", "sdp": offer])
        return try wait(for: "answer", timeout: timeout, others: others)["sdp"] as? String ?? ""
    }
}
