import Basics

/// RTCP 203 (RFC 3550 §6.6).
struct Goodbye: Sendable, Equatable {
    static let packetType: UInt8 = 203

    var ssrcs: [SSRC]
    var reason: String?

    init(ssrcs: [SSRC], reason: String? = nil) {
        self.ssrcs = ssrcs
        self.reason = reason
    }

    init(_ reader: inout ByteReader, count: Int) throws(ByteReader.Truncated) {
        ssrcs = []
        for _ in 0..<count { ssrcs.append(try reader.readSSRC()) }
        // A truncated reason does not invalidate the BYE.
        if let length = try? reader.readUInt8(), length > 0, let text = try? reader.readBytes(Int(length)) {
            reason = String(decoding: text, as: UTF8.self)
        }
    }

    /// Appends the packet with its header, padded to whole words.
    func encode(into bytes: inout [UInt8]) {
        let ssrcs = ssrcs.prefix(31)
        var text: [UInt8] = []
        if let reason {
            let utf8 = Array(reason.utf8.prefix(255))
            text = [UInt8(utf8.count)] + utf8
            while text.count % 4 != 0 { text.append(0) }
        }
        RTCPPacket.encodeHeader(
            Self.packetType, count: ssrcs.count, bodyBytes: 4 * ssrcs.count + text.count, into: &bytes)
        for ssrc in ssrcs { bytes.append32(ssrc.rawValue) }
        bytes += text
    }
}
