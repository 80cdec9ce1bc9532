import Basics
import Fuzzing

@testable import Peer

/// RTP headers with both forms of extensions, the headers in payloads, and the playout of audio.
enum RTPBody {
    static let headers = FuzzTarget(
        "rtp", covers: "RTP headers, extensions, RTX, RED, Opus packets, VP8 descriptors", maximumLength: 2048,
        seeds: { headerSeeds },
        body: runHeader)

    static let sound = FuzzTarget(
        "audio", covers: "the receive buffer of sound: order, loss, copies, playout", maximumLength: 4096,
        seeds: { audioSeeds }, body: runAudio)

    private static func runHeader(_ input: FuzzInput, _ work: inout Work) {
        let bytes = input.bytes
        work.step(bytes: bytes.count)
        guard let header = try? RTPHeader(parsing: bytes.span) else { return }
        for id in UInt8.min...UInt8.max { _ = header.extensionElement(id, in: bytes.span) }
        _ = header.extension16(3, in: bytes.span)
        _ = header.extension24(5, in: bytes.span)
        _ = header.extension8(1, in: bytes.span)
        _ = RetransmittedPayload(header: header, in: bytes.span)
        let payload = Array(bytes[header.payloadRange])
        _ = VP8Descriptor.parse(payload.span)
        _ = H264Depacketizer.peek(payload.span)
        if let redundant = RedundantAudio(parsing: payload.span) {
            for block in redundant.blocks
            where !payload.indices.contains(block.range.lowerBound) && !block.range.isEmpty {
                fatalError("rtp: a block of redundant sound lies outside of its payload")
            }
        }
    }

    /// Packets in the order and at the times of the script, with playout in between.
    private static func runAudio(_ input: FuzzInput, _ work: inout Work) {
        var input = input
        var buffer = AudioReceiveBuffer()
        var now = Instant.zero
        var sequence: Int64 = 0
        var timestamp: Int64 = 0
        work.start()
        while !input.isEmpty {
            switch input.below(8) {
            case 0: now += .milliseconds(Int64(input.byte()))
            case 1: now += .milliseconds(Int64(input.number16()))
            case 2:
                for _ in 0..<input.repetitions(upTo: 64) {
                    work.step()
                    now += .milliseconds(20)
                    _ = buffer.next(at: now, pcmBuffered: Int(input.byte()) * 16)
                }
            default:
                let step = input.byte()
                sequence += step < 200 ? 1 : Int64(Int8(bitPattern: step)) * 40
                timestamp += step < 180 ? 960 : Int64(Int32(bitPattern: input.number32()))
                let isCopy = step & 7 == 7
                let payload = input.chunk()
                work.step(bytes: payload.count)
                buffer.insert(
                    ReceivedAudioPacket(
                        payload: payload, sequence: sequence - (isCopy ? 1 : 0),
                        timestamp: timestamp - (isCopy ? 960 : 0), marker: step & 16 != 0,
                        captureTime: now - .milliseconds(Int64(step)), arrival: now, isCopy: isCopy))
            }
            _ = buffer.targetDelay(at: now)
        }
        work.weigh()
    }

    private static var headerSeeds: [[UInt8]] {
        let packets = [false, true].compactMap { twoByte -> [UInt8]? in
            var bytes = [UInt8](repeating: 0, count: 200)
            let length = bytes.withUnsafeMutableBytes { buffer in
                var writer = RTPPacketWriter(
                    buffer, marker: true, payloadType: 96, sequence: 65_535, timestamp: 0xFFFF_FFFF, ssrc: 7,
                    twoByteExtensions: twoByte)
                writer.addExtension(1, "0")
                writer.addExtension(3, UInt16(9))
                writer.addExtension24(5, 77)
                writer.append16(0x1000)
                writer.append(0x10)
                writer.pad(20)
                return writer.finish()
            }
            return length.map { Array(bytes[..<$0]) }
        }
        let plain: [UInt8] = [0x80, 111, 0, 1, 0, 0, 0, 1, 0, 0, 0, 9]
        return packets + MediaSeeds.redundantAudio.map { plain + $0 } + MediaSeeds.payloads(.vp8).map { plain + $0 }
            + MediaSeeds.payloads(.h264).map { plain + $0 }
    }

    private static var audioSeeds: [[UInt8]] {
        var script = FuzzScript()
        for index in 0..<30 {
            script.byte(3)
            script.byte(index % 5 == 4 ? 7 : 0)
            script.chunk([0x78] + [UInt8](repeating: UInt8(index), count: 20))
            script.raw([0, 20])
            if index > 3 { script.raw([2, 0, 10]) }
        }
        return [script.bytes]
    }
}
