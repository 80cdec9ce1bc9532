import Basics

/// The state cookie of a handshake (RFC 9260 §5.1.3): the contents of the peer's INIT. It needs no signature, since
/// DTLS has authenticated the peer.
struct SCTPCookie: Equatable {
    var tag: UInt32
    var window: UInt32
    var tsn: UInt32
    var forwardTSN: Bool

    init(_ value: SCTPInit) {
        (tag, window, tsn, forwardTSN) = (value.tag, value.window, value.tsn, value.forwardTSN)
    }

    /// nil if it is too short. Further bytes are ignored.
    init?(parsing bytes: [UInt8]) {
        var reader = ByteReader(bytes.span)
        do {
            tag = try reader.readUInt32()
            window = try reader.readUInt32()
            tsn = try reader.readUInt32()
            forwardTSN = try reader.readUInt8() == 1
        } catch { return nil }
    }

    var encoded: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append32(tag)
        bytes.append32(window)
        bytes.append32(tsn)
        bytes.append(forwardTSN ? 1 : 0)
        return bytes
    }
}
