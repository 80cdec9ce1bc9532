import Basics

/// RTCP 202 (RFC 3550 §6.5).
struct SourceDescription: Sendable, Equatable {
    static let packetType: UInt8 = 202
    static let cname: UInt8 = 1

    struct Item: Sendable, Equatable {
        var type: UInt8
        /// At most 255 bytes of UTF-8 are written.
        var text: String
        init(type: UInt8, text: String) {
            self.type = type
            self.text = text
        }
    }

    struct Chunk: Sendable, Equatable {
        var ssrc: SSRC
        var items: [Item]
        init(ssrc: SSRC, items: [Item]) {
            self.ssrc = ssrc
            self.items = items
        }
        var cname: String? { items.first { $0.type == SourceDescription.cname }?.text }
    }

    var chunks: [Chunk]

    init(chunks: [Chunk]) { self.chunks = chunks }
    init(ssrc: SSRC, cname: String) {
        chunks = [Chunk(ssrc: ssrc, items: [Item(type: Self.cname, text: cname)])]
    }

    init(_ reader: inout ByteReader, count: Int) throws(ByteReader.Truncated) {
        chunks = []
        for _ in 0..<count {
            // Every chunk starts on a word boundary; the reader starts after the packet's first word.
            let start = reader.offset
            var chunk = Chunk(ssrc: try reader.readSSRC(), items: [])
            while true {
                let type = try reader.readUInt8()
                if type == 0 { break }
                let text = try reader.readBytes(Int(reader.readUInt8()))
                chunk.items.append(Item(type: type, text: String(decoding: text, as: UTF8.self)))
            }
            try reader.skip((4 - (reader.offset - start) % 4) % 4)
            chunks.append(chunk)
        }
    }

    /// Appends the packet with its header, padded to whole words.
    func encode(into bytes: inout [UInt8]) {
        var body: [UInt8] = []
        for chunk in chunks.prefix(31) {
            body.append32(chunk.ssrc.rawValue)
            for item in chunk.items {
                let text = Array(item.text.utf8.prefix(255))
                body.append(item.type)
                body.append(UInt8(text.count))
                body += text
            }
            repeat { body.append(0) } while body.count % 4 != 0
        }
        RTCPPacket.encodeHeader(Self.packetType, count: min(chunks.count, 31), bodyBytes: body.count, into: &bytes)
        bytes += body
    }
}
