import Basics
import Threads

/// An SCTP association that only completes the handshake: it sends an attack's chunks unchanged, and acknowledges
/// nothing.
final class HostileChannels {
    static let stringType: UInt32 = 51
    static let openType: UInt32 = 50

    private let peer: HostilePeer
    private let tag = UInt32.random(in: 1 ... .max)
    private var peerTag: UInt32 = 0
    private(set) var isEstablished = false
    /// The TSN of the next chunk that is sent in order.
    var tsn: UInt32 = 1000
    /// Whether the server ended the association.
    private(set) var isAborted = false

    /// The most bytes of chunks that fit one packet.
    static let room = 1120

    init(_ peer: HostilePeer) {
        self.peer = peer
        peer.onApplication = { [weak self] in self?.receive($0) }
    }

    /// Performs the handshake as the initiator; a crossing INIT of the server is not answered.
    func establish(within limit: Duration = .seconds(5)) throws(WireError) {
        var body: [UInt8] = []
        body.append32(tag)
        body.append32(1 << 20)
        body.append16(1024)
        body.append16(1024)
        body.append32(tsn)
        // RFC 3758 §3.1: partial reliability is supported.
        body += [0xC0, 0, 0, 4]
        let hello = Self.chunk(1, body)
        let end = MonotonicClock.now() + limit
        while !isEstablished {
            guard MonotonicClock.now() < end, peer.end == nil else { throw WireError("no SCTP association") }
            if peerTag == 0 { send(hello, tag: 0) }
            try peer.run(until: MonotonicClock.now() + .milliseconds(50), every: .milliseconds(10)) {
                _ throws(WireError) in
            }
        }
    }

    // MARK: - In

    private func receive(_ packet: [UInt8]) {
        var offset = 12
        while offset + 4 <= packet.count {
            let length = max(4, Int(packet[offset + 2]) << 8 | Int(packet[offset + 3]))
            guard offset + length <= packet.count else { return }
            take(packet[offset], Array(packet[offset + 4..<offset + length]))
            offset += (length + 3) & ~3
        }
    }

    private func take(_ type: UInt8, _ body: [UInt8]) {
        switch type {
        case 2 where !isEstablished && body.count >= 16:
            peerTag = body[0..<4].reduce(0) { $0 << 8 | UInt32($1) }
            var offset = 16
            while offset + 4 <= body.count {
                let length = max(4, Int(body[offset + 2]) << 8 | Int(body[offset + 3]))
                guard offset + length <= body.count else { return }
                // State cookie (RFC 9260 §3.3.3.1).
                if body[offset] == 0, body[offset + 1] == 7 {
                    send(Self.chunk(10, Array(body[offset + 4..<offset + length])))
                }
                offset += (length + 3) & ~3
            }
        case 6: isAborted = true
        case 11: isEstablished = true
        default: break
        }
    }

    // MARK: - Out

    func send(_ chunks: [UInt8], tag: UInt32? = nil) {
        var packet: [UInt8] = []
        packet.reserveCapacity(12 + chunks.count)
        packet.append16(5000)
        packet.append16(5000)
        packet.append32(tag ?? peerTag)
        packet.append32(0)
        packet += chunks
        let sum = Self.checksum(packet)
        for index in 0..<4 { packet[8 + index] = UInt8(truncatingIfNeeded: sum >> (8 * UInt32(index))) }
        peer.send(application: packet)
    }

    static func chunk(_ type: UInt8, flags: UInt8 = 0, _ body: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = [type, flags]
        bytes.append16(UInt16(truncatingIfNeeded: body.count + 4))
        bytes += body
        while bytes.count & 3 != 0 { bytes.append(0) }
        return bytes
    }

    /// A DATA chunk (RFC 9260 §3.3.1).
    static func data(
        tsn: UInt32, stream: UInt16 = 0, number: UInt16 = 0, type: UInt32 = stringType, unordered: Bool = false,
        begins: Bool = true,
        ends: Bool = true, _ payload: [UInt8]
    ) -> [UInt8] {
        var body: [UInt8] = []
        body.append32(tsn)
        body.append16(stream)
        body.append16(number)
        body.append32(type)
        return chunk(0, flags: (unordered ? 4 : 0) | (begins ? 2 : 0) | (ends ? 1 : 0), body + payload)
    }

    /// DATA_CHANNEL_OPEN (RFC 8832 §5.1) on a stream, as its first message.
    func open(stream: UInt16, label: String) {
        var body: [UInt8] = [3, 0]
        body.append16(256)
        body.append32(0)
        body.append16(UInt16(label.utf8.count))
        body.append16(0)
        body += label.utf8
        send(Self.data(tsn: tsn, stream: stream, type: Self.openType, body))
        tsn &+= 1
    }

    /// Sends packets filled with the chunks of `next` until it returns nil.
    func sendPacked(_ next: () -> [UInt8]?) {
        var chunks: [UInt8] = []
        while let chunk = next() {
            if chunks.count + chunk.count > Self.room {
                send(chunks)
                chunks = []
            }
            chunks += chunk
        }
        if !chunks.isEmpty { send(chunks) }
    }

    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { crc, _ in crc & 1 == 1 ? crc >> 1 ^ 0x82F6_3B78 : crc >> 1 }
    }

    /// CRC-32C (RFC 9260 appendix A).
    private static func checksum(_ bytes: [UInt8]) -> UInt32 {
        var crc: UInt32 = .max
        for byte in bytes { crc = crc >> 8 ^ table[Int(UInt8(truncatingIfNeeded: crc) ^ byte)] }
        return ~crc
    }
}
