import Basics
import Fuzzing

@testable import Peer

/// Scripts for a connected peer: ordinary calls, and one of each kind of message.
enum ConnectionSeeds {
    private typealias Operation = ConnectionBody.Operation

    static var all: [[UInt8]] {
        ConnectedPeer.offers.indices.flatMap { offer in [call(offer), reports(offer), channels(offer), offers(offer)] }
            + captured
    }

    private static func begin(_ offer: Int) -> FuzzScript {
        var script = FuzzScript()
        script.byte(offer)
        return script
    }

    /// Media in both directions for some frames, with a loss and its repair.
    private static func call(_ offer: Int) -> [UInt8] {
        var script = begin(offer)
        for index in 0..<6 {
            let picture = MediaSeeds.pictures(offer == 5 ? .h264 : .vp8)[index % 2]
            for (number, payload) in picture.enumerated() {
                // A new timestamp with the first packet, the marker with the last; the fourth frame begins with a loss.
                let isLate = index == 3 && number == 0
                script.raw([
                    Operation.media.rawValue, (number == 0 ? 4 : 0) | (isLate ? 2 : 0), 2,
                    number == picture.count - 1 ? 5 : 4,
                ])
                if isLate { script.byte(2) }
                script.byte(0)
                script.chunk(payload)
            }
            // Audio, then the server's media: a frame and a packet.
            script.raw([Operation.media.rawValue, 4, 0, 64, 0, 3, 0x78, 1, 2])
            script.raw([Operation.frames.rawValue, 20, 0, Operation.sound.rawValue, 1])
            // The repair of the lost packet.
            script.raw([Operation.media.rawValue, 0, 5, 1, 0, 4, 0x10, 0x80, 0x80, 5])
            script.raw([Operation.wait.rawValue, 5])
        }
        return script.bytes
    }

    /// One of each kind of RTCP about the server's video, after media of the server.
    private static func reports(_ offer: Int) -> [UInt8] {
        var script = begin(offer)
        script.raw([Operation.frames.rawValue, 60, 5, Operation.sound.rawValue, 5])
        for packet in MediaSeeds.reports(about: 0x4000_0000, from: 0x2222) {
            var bytes: [UInt8] = []
            packet.encode(into: &bytes)
            script.byte(Int(Operation.rawReports.rawValue))
            script.chunk(bytes)
        }
        let kinds: [[UInt8]] = [
            [0, 0, 3, 1, 0, 0, 0], [1, 0, 0, 0x18, 0x80, 0, 20], [2, 0, 3, 0x18, 0x80, 0, 20],
            [3, 4, 5, 5, 1, 0, 5, 0x20, 5, 4, 4, 4], [4, 0],
            [5, 0, 0, 1],
            [6, 1, 0x10, 0xFF, 0xFF, 0, 0], [7, 1] + [UInt8](repeating: 1, count: 37),
            [8, 1] + [UInt8](repeating: 1, count: 17), [9, 1, 5],
            [10, 8, 4, 0, 0, 2, 1, 2, 3, 4], [11, 52, 4, 1, 2, 3, 4],
        ]
        for kind in kinds {
            script.raw([Operation.reports.rawValue, 0] + kind)
            script.raw([Operation.frames.rawValue, 10, 0, Operation.wait.rawValue, 6])
        }
        return script.bytes
    }

    /// Channels of both ends, messages, acknowledgements, a reset.
    private static func channels(_ offer: Int) -> [UInt8] {
        var script = begin(offer)
        script.raw([Operation.channels.rawValue, 8, 0, 2, 4, 99, 104, 97, 116, 0])
        script.raw([Operation.channels.rawValue, 0, 0x03, 2, 2, 104, 105])
        script.raw([Operation.setting.rawValue, 5, 0, Operation.wait.rawValue, 5, Operation.channels.rawValue, 5, 0, 0])
        script.raw([Operation.setting.rawValue, 6, 0, 0, 3, Operation.channels.rawValue, 5, 4, 0, 0, 1, 1])
        script.raw([
            Operation.channels.rawValue, 2, 8, 3, 2, Operation.wait.rawValue, 8, Operation.channels.rawValue, 7, 0, 0,
            1, 2,
        ])
        return script.bytes
    }

    /// Further offers, checks from other addresses, candidates.
    private static func offers(_ offer: Int) -> [UInt8] {
        var script = begin(offer)
        script.raw([
            Operation.offer.rawValue, 0, Operation.wait.rawValue, 5, Operation.offer.rawValue, 1, 0, 0, 5, 7,
            Operation.check.rawValue, 4, 1, 0,
        ])
        script.raw([
            Operation.offer.rawValue, 2, 0, 20, 0, 0, 9, 1, 0, 30, Operation.check.rawValue, 0x20 | 4, 1, 0,
            Operation.wait.rawValue, 9,
        ])
        script.raw([
            Operation.check.rawValue, 0x40 | 1, 1, 0, Operation.check.rawValue, 0x60 | 16, 1, 0,
            Operation.setting.rawValue, 8, 1,
            Operation.setting.rawValue, 9,
        ])
        script.chunk(Array("candidate:1 1 udp 2130706431 203.0.113.5 4000 typ host".utf8))
        script.raw([
            Operation.setting.rawValue, 2, 45, Operation.setting.rawValue, 4, Operation.setting.rawValue, 1, 2, 0,
        ])
        return script.bytes
    }

    /// The server's own packets of a call, decrypted, as if the far end had sent them.
    private static var captured: [[UInt8]] {
        guard let peer = ConnectedPeer(choice: 0) else { return [] }
        var script = begin(0)
        var work = Work(WorkLimits())
        var datagrams: [[UInt8]] = []
        for _ in 0..<4 {
            peer.sendFrame(bytes: 2000, &work)
            peer.sendAudio([UInt8](repeating: 1, count: 60), &work)
            peer.server.flush { bytes, _ in datagrams.append(Array(bytes)) }
            peer.wait(.milliseconds(40), &work)
        }
        for var bytes in datagrams {
            let kind = bytes.withUnsafeBytes { DatagramKind($0) }
            let length = bytes.withUnsafeMutableBytes { buffer -> Int? in
                switch kind {
                case .rtp: try? peer.srtp.unprotectRTP(buffer, length: buffer.count)
                case .rtcp: try? peer.srtp.unprotectRTCP(buffer, length: buffer.count)
                default: nil
                }
            }
            guard let length else { continue }
            script.byte(Int((kind == .rtp ? Operation.rawMedia : Operation.rawReports).rawValue))
            script.chunk(Array(bytes[..<length]))
        }
        return [script.bytes]
    }
}
