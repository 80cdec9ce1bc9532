import Basics

/// The open bitstream units (OBUs) of one AV1 temporal unit, and their RTP payloads.
///
/// Source: *AV1 Bitstream & Decoding Process Specification* §5.3 to §5.3.3 and *RTP Payload Format for AV1* (AOMedia,
/// v1.0.0) §4.
enum AV1Units {
    private enum UnitType {
        static let temporalDelimiter: UInt8 = 2
        static let tileList: UInt8 = 8
        static let padding: UInt8 = 15
    }

    /// The most OBUs of a temporal unit that are looked at: an encoder makes two or three.
    private static let most = 64

    /// The OBUs of a temporal unit in the low-overhead format, without their sizes, and without those that receivers
    /// need not have (§5 of the payload format); nil where it is malformed.
    static func elements(of unit: [UInt8]) -> [[UInt8]]? {
        var elements: [[UInt8]] = []
        var reader = ByteReader(unit.span)
        do {
            while reader.remaining > 0 {
                guard elements.count < most else { return nil }
                let header = try reader.readUInt8()
                guard header & 0x80 == 0 else { return nil }
                var element = [header & ~2]
                if header & 4 != 0 { element.append(try reader.readUInt8()) }
                let size = header & 2 != 0 ? try readSize(&reader) : reader.remaining
                let body = try reader.take(size)
                let type = header >> 3 & 15
                if [UnitType.temporalDelimiter, UnitType.tileList, UnitType.padding].contains(type) { continue }
                element += unit[body]
                elements.append(element)
            }
        } catch {
            return nil
        }
        return elements
    }

    /// leb128() of at most 32 bits (§4.10.5).
    private static func readSize(_ reader: inout ByteReader) throws -> Int {
        var size = 0
        for index in 0..<5 {
            let byte = try reader.readUInt8()
            size |= Int(byte & 0x7F) << (7 * index)
            if byte & 0x80 == 0 { return size }
        }
        return .max
    }

    /// The payloads of a temporal unit: each an aggregation header and OBU elements, of which the last has no length
    /// where there are at most three. All payloads have nearly one size, and none is larger than `limit`.
    static func payloads(of unit: [UInt8], isKeyframe: Bool, limit: Int) -> [[UInt8]] {
        guard let elements = elements(of: unit), !elements.isEmpty else { return [] }
        let bytes = elements.reduce(0) { $0 + $1.count + mostLengthBytes }
        let room = limit - 1
        let count = (bytes + room - 1) / room
        // Nearly equal parts, as those of other codecs (`PacketizedVideoFrame.evenParts`).
        let size = min(room, (bytes + count - 1) / count + mostLengthBytes)
        var cutter = AV1Cutter(room: size, isKeyframe: isKeyframe)
        for element in elements { cutter.add(element) }
        return cutter.finish()
    }

    /// Of an element that a packet holds.
    fileprivate static let mostLengthBytes = 2

    fileprivate static func size(_ value: Int) -> [UInt8] {
        value < 0x80
            ? [UInt8(value)] : [UInt8(truncatingIfNeeded: value) | 0x80, UInt8(truncatingIfNeeded: value >> 7)]
    }
}

private struct AV1Cutter {
    /// For elements and their lengths, behind the aggregation header.
    let room: Int
    let isKeyframe: Bool
    private var payloads: [[UInt8]] = []
    /// The elements of the packet that is being filled.
    private var parts: [ArraySlice<UInt8>] = []
    private var used = 0
    /// Whether its first element began in the packet before.
    private var continues = false

    init(room: Int, isKeyframe: Bool) {
        (self.room, self.isKeyframe) = (max(room, 2 * AV1Units.mostLengthBytes), isKeyframe)
    }

    mutating func add(_ element: [UInt8]) {
        var rest = element[...]
        while !rest.isEmpty {
            let free = room - used - AV1Units.mostLengthBytes
            if free <= 0 {
                close(isCut: rest.startIndex > 0)
                continue
            }
            let part = rest.prefix(free)
            parts.append(part)
            used += part.count + AV1Units.mostLengthBytes
            rest = rest.dropFirst(part.count)
            if !rest.isEmpty { close(isCut: true) }
        }
    }

    /// - Parameter isCut: the last element goes on in the next packet.
    private mutating func close(isCut: Bool) {
        guard !parts.isEmpty else { return }
        // W: 0 where each element has its length.
        let count = parts.count <= 3 ? parts.count : 0
        let isFirst = payloads.isEmpty
        var payload: [UInt8] = [
            (continues ? 0x80 : 0) | (isCut ? 0x40 : 0) | UInt8(count) << 4 | (isFirst && isKeyframe ? 0x08 : 0)
        ]
        for (index, part) in parts.enumerated() {
            if count == 0 || index < count - 1 { payload += AV1Units.size(part.count) }
            payload += part
        }
        payloads.append(payload)
        parts = []
        used = 0
        continues = isCut
    }

    mutating func finish() -> [[UInt8]] {
        close(isCut: false)
        return payloads
    }
}
