import Basics

/// The payloads of one access unit (RFC 6184 §5.6 to §5.8, RFC 7741 §4.2).
enum Packetizing {
    /// The payload size of a packet in bytes.
    static let room = 1150

    static func payloads(of frame: EncodedVideoFrame) -> [[UInt8]] {
        frame.codec == .h264 ? h264(frame.data) : vp8(frame.data)
    }

    private static func vp8(_ data: [UInt8]) -> [[UInt8]] {
        stride(from: 0, to: data.count, by: room).map { start in
            // A descriptor with X and S, and without a picture id.
            [start == 0 ? 0x10 : 0x00] + data[start..<min(start + room, data.count)]
        }
    }

    private static func h264(_ annexB: [UInt8]) -> [[UInt8]] {
        units(annexB).flatMap { unit -> [[UInt8]] in
            guard unit.count > room, let head = unit.first else { return [unit] }
            let body = unit.dropFirst()
            return stride(from: body.startIndex, to: body.endIndex, by: room).map { start in
                let end = min(start + room, body.endIndex)
                let flags: UInt8 = (start == body.startIndex ? 0x80 : 0) | (end == body.endIndex ? 0x40 : 0)
                return [head & 0xE0 | 28, flags | head & 31] + body[start..<end]
            }
        }
    }

    /// NAL units of an Annex B stream.
    static func units(_ bytes: [UInt8]) -> [[UInt8]] {
        var starts: [(code: Int, unit: Int)] = []
        var index = 0
        while index + 3 <= bytes.count {
            if bytes[index] == 0, bytes[index + 1] == 0, bytes[index + 2] == 1 {
                starts.append((index > 0 && bytes[index - 1] == 0 ? index - 1 : index, index + 3))
                index += 3
            } else {
                index += 1
            }
        }
        return starts.indices.map { place in
            let end = place + 1 < starts.count ? starts[place + 1].code : bytes.count
            return Array(bytes[starts[place].unit..<end])
        }.filter { !$0.isEmpty }
    }

    /// STAP-A packets (RFC 6184 §5.7.1) of different parameter sets of four bytes.
    static func parameterSets(packets: Int) -> [[UInt8]] {
        let perPacket = (room - 1) / 6
        return (0..<packets).map { packet in
            var bytes: [UInt8] = [0x78]
            for place in 0..<perPacket {
                let number = packet * perPacket + place
                bytes += [
                    0, 4, 0x68, UInt8(truncatingIfNeeded: number >> 16 | 0x80), UInt8(truncatingIfNeeded: number >> 8),
                    UInt8(truncatingIfNeeded: number),
                ]
            }
            return bytes
        }
    }
}
