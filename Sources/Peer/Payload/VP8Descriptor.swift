import Basics

/// The VP8 payload descriptor (RFC 7741 §4.2).
struct VP8Descriptor: Sendable, Equatable {
    var isNonReference = false
    /// S: the payload starts a partition.
    var startsPartition: Bool
    /// PID: 0 is the frame's first partition, with the frame header.
    var partition: UInt8 = 0
    /// 15 bits when `hasLongPictureID`, otherwise 7.
    var pictureID: UInt16?
    var hasLongPictureID = true
    var temporalLevelZeroIndex: UInt8?
    var temporalLayer: UInt8?
    /// Y: depends only on the base layer; a switch up is safe here. Meaningful with a temporal layer.
    var layerSync = false
    var keyIndex: UInt8?

    init(
        startsPartition: Bool, partition: UInt8 = 0, pictureID: UInt16? = nil, temporalLevelZeroIndex: UInt8? = nil,
        temporalLayer: UInt8? = nil, layerSync: Bool = false, isNonReference: Bool = false
    ) {
        self.startsPartition = startsPartition
        self.partition = partition
        self.pictureID = pictureID
        self.temporalLevelZeroIndex = temporalLevelZeroIndex
        self.temporalLayer = temporalLayer
        self.layerSync = layerSync
        self.isNonReference = isNonReference
    }

    /// Whether it begins a frame: the start of the first partition.
    var startsFrame: Bool { startsPartition && partition == 0 }

    /// Parses the descriptor at the start of a payload and returns its length; nil if it is truncated.
    static func parse(_ payload: Span<UInt8>) -> (descriptor: VP8Descriptor, size: Int)? {
        var reader = ByteReader(payload)
        guard let descriptor = try? VP8Descriptor(&reader) else { return nil }
        return (descriptor, reader.offset)
    }

    private init(_ reader: inout ByteReader) throws(ByteReader.Truncated) {
        let first = try reader.readUInt8()
        isNonReference = first & 0x20 != 0
        startsPartition = first & 0x10 != 0
        partition = first & 0x07
        guard first & 0x80 != 0 else { return }
        let flags = try reader.readUInt8()
        if flags & 0x80 != 0 {
            let id = try reader.readUInt8()
            hasLongPictureID = id & 0x80 != 0
            pictureID = hasLongPictureID ? UInt16(id & 0x7F) << 8 | UInt16(try reader.readUInt8()) : UInt16(id)
        }
        if flags & 0x40 != 0 { temporalLevelZeroIndex = try reader.readUInt8() }
        if flags & 0x30 != 0 {
            let byte = try reader.readUInt8()
            if flags & 0x20 != 0 {
                temporalLayer = byte >> 6
                layerSync = byte & 0x20 != 0
            }
            if flags & 0x10 != 0 { keyIndex = byte & 0x1F }
        }
    }

    /// Appends the descriptor's bytes.
    func encode(into bytes: inout [UInt8]) {
        var raw: (UInt64, Int) = pack()
        while raw.1 > 0 {
            raw.1 -= 1
            bytes.append(UInt8(truncatingIfNeeded: raw.0 >> UInt64(8 * raw.1)))
        }
    }

    /// Writes the descriptor directly into a packet, without an array.
    func write(to writer: inout RTPPacketWriter) {
        var raw: (UInt64, Int) = pack()
        while raw.1 > 0 {
            raw.1 -= 1
            writer.append(UInt8(truncatingIfNeeded: raw.0 >> UInt64(8 * raw.1)))
        }
    }

    private func pack() -> (UInt64, Int) {
        var value: UInt64 = 0
        var count = 0
        func put(_ byte: UInt8) {
            value = value << 8 | UInt64(byte)
            count += 1
        }
        let hasMore = pictureID != nil || temporalLevelZeroIndex != nil || temporalLayer != nil || keyIndex != nil
        put((hasMore ? 0x80 : 0) | (isNonReference ? 0x20 : 0) | (startsPartition ? 0x10 : 0) | partition & 7)
        guard hasMore else { return (value, count) }
        var flags: UInt8 = 0
        if pictureID != nil { flags |= 0x80 }
        if temporalLevelZeroIndex != nil { flags |= 0x40 }
        if temporalLayer != nil { flags |= 0x20 }
        if keyIndex != nil { flags |= 0x10 }
        put(flags)
        if let pictureID {
            if hasLongPictureID {
                put(0x80 | UInt8(truncatingIfNeeded: pictureID >> 8))
                put(UInt8(truncatingIfNeeded: pictureID))
            } else {
                put(UInt8(pictureID & 0x7F))
            }
        }
        if let temporalLevelZeroIndex { put(temporalLevelZeroIndex) }
        if temporalLayer != nil || keyIndex != nil {
            put((temporalLayer ?? 0) << 6 | (layerSync ? 0x20 : 0) | (keyIndex ?? 0) & 0x1F)
        }
        return (value, count)
    }
}

/// The header of a VP8 frame (RFC 6386 §9.1).
struct VP8FrameHeader: Sendable, Equatable {
    var isKeyframe: Bool
    /// 0 unless it is a keyframe.
    var width = 0
    var height = 0

    /// nil if the frame is too short, or claims to be a keyframe without its start code.
    init?(_ frame: Span<UInt8>) {
        guard frame.count >= 3 else { return nil }
        isKeyframe = frame[0] & 1 == 0
        guard isKeyframe else { return }
        guard frame.count >= 10, frame[3] == 0x9D, frame[4] == 0x01, frame[5] == 0x2A else { return nil }
        // Two bits of upscaling above 14 of size.
        width = Int(frame[7] & 0x3F) << 8 | Int(frame[6])
        height = Int(frame[9] & 0x3F) << 8 | Int(frame[8])
    }
}
