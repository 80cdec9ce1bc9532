import Basics

/// A box of an MP4 (ISO/IEC 14496-12 §4.2) in memory.
struct MP4Box {
    var kind: String
    var content: [UInt8]

    init(_ kind: String, _ content: [UInt8]) {
        self.kind = kind
        self.content = content
    }

    /// A box that holds others.
    init(_ kind: String, _ children: [MP4Box]) { self.init(kind, children.flatMap(\.bytes)) }

    /// With its header.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(content.count + 8)
        bytes.append32(UInt32(clamping: content.count + 8))
        bytes += kind.utf8
        return bytes + content
    }

    /// The boxes in it, as far as they are whole.
    var children: [MP4Box] { (try? Self.boxes(in: content)) ?? [] }

    func child(_ kind: String) -> MP4Box? { children.first { $0.kind == kind } }

    static func boxes(in bytes: [UInt8]) throws(ByteReader.Truncated) -> [MP4Box] {
        var reader = ByteReader(bytes.span)
        var boxes: [MP4Box] = []
        while reader.remaining > 0 {
            let length = Int(try reader.readUInt32())
            let kind = String(decoding: try reader.readBytes(4), as: UTF8.self)
            boxes.append(MP4Box(kind, try reader.readBytes(length - 8)))
        }
        return boxes
    }
}

/// Reads the top-level boxes of a file. Not Sendable: one owner; the descriptor is the caller's.
struct MP4File {
    let descriptor: Int32
    let size: Int

    struct Place {
        var kind: String
        var start: Int
        var headerSize: Int
        var end: Int
    }

    /// The largest box that is read into memory: the index of a fragment has some kilobytes, that of a day some
    /// megabytes.
    private static let maxContent = 64 << 20

    /// The whole box that begins at an offset; nil where there is none.
    func box(at offset: Int) -> Place? {
        guard let header = read(16, at: offset) ?? read(8, at: offset) else { return nil }
        var reader = ByteReader(header.span)
        guard let short = try? reader.readUInt32(), let kind = try? reader.readBytes(4) else { return nil }
        var length = Int(short)
        var headerSize = 8
        if short == 1 {
            guard let long = try? reader.readUInt64() else { return nil }
            length = Int(clamping: long)
            headerSize = 16
        }
        guard length >= headerSize, length <= size - offset else { return nil }
        return Place(
            kind: String(decoding: kind, as: UTF8.self), start: offset, headerSize: headerSize, end: offset + length)
    }

    func content(of place: Place) -> [UInt8]? {
        let count = place.end - place.start - place.headerSize
        return count <= Self.maxContent ? read(count, at: place.start + place.headerSize) : nil
    }

    /// Reads exactly `count` bytes.
    private func read(_ count: Int, at offset: Int) -> [UInt8]? {
        guard count >= 0, offset >= 0, count <= size - offset else { return nil }
        return SystemFile.read(descriptor, count, at: offset)
    }
}
