/// Writes one RTP packet into the caller's memory, in order: header, extension elements, payload, padding.
///
/// Allocates nothing. If a part does not fit, it is not written and `finish()` returns nil; nothing traps.
struct RTPPacketWriter {
    private let buffer: UnsafeMutableRawBufferPointer
    private var offset = 0
    private var failed = false
    private var extensionStart = 0
    private let twoByte: Bool
    private var payloadStarted = false

    /// `twoByteExtensions` chooses the form for the whole packet: the one-byte form carries ids 1–14 and 1–16 bytes
    /// (RFC 8285 §4.2).
    init(
        _ buffer: UnsafeMutableRawBufferPointer, marker: Bool, payloadType: UInt8, sequence: SequenceNumber,
        timestamp: RTPTimestamp, ssrc: SSRC, twoByteExtensions: Bool = false
    ) {
        self.buffer = buffer
        twoByte = twoByteExtensions
        put(0x80)
        put((marker ? 0x80 : 0) | payloadType & 0x7F)
        put16(sequence.rawValue)
        put32(timestamp.rawValue)
        put32(ssrc.rawValue)
    }

    /// Adds an extension element; ignored once the payload has begun, refused if the form cannot carry it.
    mutating func addExtension(_ id: UInt8, _ value: UnsafeRawBufferPointer) {
        guard beginElement(id, count: value.count) else { return }
        for byte in value { put(byte) }
    }

    /// Adds a one-byte element, e.g. an audio level.
    mutating func addExtension(_ id: UInt8, _ value: UInt8) {
        guard beginElement(id, count: 1) else { return }
        put(value)
    }

    /// Adds a two-byte element, e.g. the transport-wide sequence number.
    mutating func addExtension(_ id: UInt8, _ value: UInt16) {
        guard beginElement(id, count: 2) else { return }
        put16(value)
    }

    /// Adds a three-byte element, e.g. abs-send-time or playout-delay.
    mutating func addExtension24(_ id: UInt8, _ value: UInt32) {
        guard beginElement(id, count: 3) else { return }
        put(UInt8(truncatingIfNeeded: value >> 16))
        put16(UInt16(truncatingIfNeeded: value))
    }

    /// Adds an element of text, e.g. MID or RID.
    mutating func addExtension(_ id: UInt8, _ value: String) {
        guard beginElement(id, count: value.utf8.count) else { return }
        for byte in value.utf8 { put(byte) }
    }

    mutating func append(_ byte: UInt8) {
        beginPayload()
        put(byte)
    }

    mutating func append16(_ value: UInt16) {
        beginPayload()
        put16(value)
    }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        beginPayload()
        guard buffer.count - offset >= bytes.count else {
            failed = true
            return
        }
        guard let from = bytes.baseAddress, let base = buffer.baseAddress, !bytes.isEmpty else { return }
        (base + offset).copyMemory(from: from, byteCount: bytes.count)
        offset += bytes.count
    }

    /// Appends `count` (1–255) bytes of padding and sets the P bit: for probes only, never for media (browsers drop
    /// such frames).
    mutating func pad(_ count: UInt8) {
        beginPayload()
        guard count > 0, buffer.count - offset >= Int(count), !failed else {
            failed = failed || count > 0
            return
        }
        for _ in 1..<Int(count) { put(0) }
        put(count)
        buffer[0] |= 0x20
    }

    /// The packet's length; nil if a part did not fit.
    mutating func finish() -> Int? {
        beginPayload()
        return failed ? nil : offset
    }

    private mutating func beginElement(_ id: UInt8, count: Int) -> Bool {
        guard !payloadStarted else { return false }
        guard twoByte ? id >= 1 && count <= 255 : (1...14).contains(id) && (1...16).contains(count) else {
            failed = true
            return false
        }
        if extensionStart == 0 {
            put16(twoByte ? 0x1000 : 0xBEDE)
            put16(0)
            extensionStart = offset
            if !failed { buffer[0] |= 0x10 }
        }
        if twoByte {
            put(id)
            put(UInt8(count))
        } else {
            put(id << 4 | UInt8(count - 1))
        }
        return true
    }

    private mutating func beginPayload() {
        guard !payloadStarted else { return }
        payloadStarted = true
        guard extensionStart > 0 else { return }
        while (offset - extensionStart) % 4 != 0, !failed { put(0) }
        guard !failed else { return }
        let words = (offset - extensionStart) / 4
        buffer[extensionStart - 2] = UInt8(truncatingIfNeeded: words >> 8)
        buffer[extensionStart - 1] = UInt8(truncatingIfNeeded: words)
    }

    private mutating func put(_ byte: UInt8) {
        guard offset < buffer.count else {
            failed = true
            return
        }
        buffer[offset] = byte
        offset += 1
    }

    private mutating func put16(_ value: UInt16) {
        put(UInt8(truncatingIfNeeded: value >> 8))
        put(UInt8(truncatingIfNeeded: value))
    }

    private mutating func put32(_ value: UInt32) {
        put16(UInt16(truncatingIfNeeded: value >> 16))
        put16(UInt16(truncatingIfNeeded: value))
    }
}
