/// A partial segment (RFC 8216bis §4.4.4.9): one fragment.
struct HLSPart: Sendable {
    /// Counts the stream's parts, so that the next one's name is known before it exists.
    let number: Int
    let bytes: [UInt8]
    /// In ticks of 90 kHz.
    let duration: Int64
    /// Whether it begins with a keyframe.
    let isIndependent: Bool
}

/// A segment: the parts from one keyframe to another.
struct HLSSegment: Sendable {
    /// The media sequence number.
    let number: Int
    /// The number of its header, `EXT-X-MAP`.
    let header: Int
    /// The room time of its beginning, in ticks of 90 kHz.
    let start: Int64
    /// Whether timing or encoding differ from the segment before.
    let isDiscontinuous: Bool
    var parts: [HLSPart] = []

    /// In ticks of 90 kHz.
    var duration: Int64 { parts.reduce(0) { $0 + $1.duration } }
    var byteCount: Int { parts.reduce(0) { $0 + $1.bytes.count } }
}
