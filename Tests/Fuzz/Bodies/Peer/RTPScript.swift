import Basics
import Fuzzing

@testable import Peer

/// The far end's media by a script: streams of the negotiated description, and others.
struct RTPScript {
    private var sequences: [UInt32: UInt16] = [:]
    private var timestamps: [UInt32: UInt32] = [:]
    private var transportSequence: UInt16 = 1

    /// The most packets that one operation of a script may send.
    private static let mostCopies = 1024

    /// The next operation of the script.
    mutating func packets(_ input: inout FuzzInput, of session: NegotiatedSession) -> [[UInt8]] {
        let shape = input.byte()
        let stream = stream(input.byte(), session)
        let marking = input.byte()
        let copies = shape & 1 == 0 ? 1 : input.repetitions(upTo: Self.mostCopies)
        let jump = shape & 2 == 0 ? 1 : UInt16(bitPattern: Int16(Int8(bitPattern: input.byte())))
        let elapsed: UInt32 = shape & 4 == 0 ? 0 : shape & 8 == 0 ? (stream.isAudio ? 960 : 3600) : input.number32()
        let extra = shape & 16 != 0 ? input.chunk() : nil
        let payload = VideoPayload(&input)
        timestamps[stream.ssrc, default: 1000] &+= elapsed
        return (0..<copies).map { copy in
            let ssrc = shape & 32 == 0 ? stream.ssrc : stream.ssrc &+ UInt32(copy)
            sequences[ssrc, default: 100] &+= jump
            if shape & 64 != 0 { timestamps[ssrc, default: 1000] &+= stream.isAudio ? 960 : 3600 }
            transportSequence &+= marking & 32 == 0 ? 1 : 300
            return packet(
                stream, ssrc: ssrc, marking, raw: extra,
                payload: stream.prefix(sequences[stream.media, default: 100] &- UInt16(copy)) + payload.bytes(copy),
                isLast: copy == copies - 1)
        }
    }

    private struct Stream {
        var ssrc: UInt32
        var payloadType: UInt8
        var isAudio = false
        /// The SSRC of the repaired stream.
        var media: UInt32 = 0
        var isRepair = false
        var section: NegotiatedSection?
        /// The RID of simulcast.
        var rid: String?

        /// The original sequence number of a repair (RFC 4588 §4).
        func prefix(_ original: UInt16) -> [UInt8] { isRepair ? [UInt8(original >> 8), UInt8(original & 255)] : [] }
    }

    private func stream(_ choice: UInt8, _ session: NegotiatedSession) -> Stream {
        let sound = session.section(.audio)
        let picture = session.section(.video)
        let codec = picture.flatMap { section in
            section.codecs.isEmpty ? nil : section.codecs[Int(choice >> 3) % section.codecs.count]
        }
        let source = picture?.remoteSources.first
        let layer = UInt32(choice >> 5)
        let rids = picture?.remoteRIDs ?? []
        let rid = rids.isEmpty ? nil : rids[Int(layer) % rids.count]
        let media = rid == nil ? source?.ssrc.rawValue ?? 0x1111 : 0x2000 + layer
        switch choice & 7 {
        case 0:
            return Stream(
                ssrc: sound?.remoteSources.first?.ssrc.rawValue ?? 0x3333,
                payloadType: sound?.codecs.first?.payloadType ?? 111, isAudio: true,
                section: sound)
        case 1:
            return Stream(
                ssrc: sound?.remoteSources.first?.ssrc.rawValue ?? 0x3333,
                payloadType: sound?.codecs.first?.redPayloadType ?? 63, isAudio: true,
                section: sound)
        case 2, 3, 4: return Stream(ssrc: media, payloadType: codec?.payloadType ?? 96, section: picture, rid: rid)
        case 5:
            return Stream(
                ssrc: rid == nil ? source?.rtx?.rawValue ?? 0x1112 : 0x3000 + layer,
                payloadType: codec?.rtxPayloadType ?? 97, media: media,
                isRepair: true, section: picture, rid: rid)
        case 6:
            return Stream(
                ssrc: 0x5000_0000 + UInt32(choice), payloadType: codec?.payloadType ?? 96, section: picture, rid: rid)
        default: return Stream(ssrc: UInt32(choice) << 24, payloadType: choice >> 1, section: nil)
        }
    }

    private func packet(_ stream: Stream, ssrc: UInt32, _ marking: UInt8, raw: [UInt8]?, payload: [UInt8], isLast: Bool)
        -> [UInt8]
    {
        var bytes = [UInt8](repeating: 0, count: 1500)
        let ids = stream.section?.headerExtensions
        let length = bytes.withUnsafeMutableBytes { buffer -> Int? in
            var writer = RTPPacketWriter(
                buffer, marker: marking & 1 != 0 && isLast, payloadType: stream.payloadType,
                sequence: SequenceNumber(rawValue: sequences[ssrc] ?? 0),
                timestamp: RTPTimestamp(rawValue: timestamps[ssrc] ?? 0),
                ssrc: SSRC(ssrc), twoByteExtensions: marking & 2 != 0)
            if marking & 4 != 0, let id = ids?.mid { writer.addExtension(id, stream.section?.mid ?? "") }
            if marking & 8 == 0, let id = ids?.transportCC { writer.addExtension(id, transportSequence) }
            if marking & 16 != 0, let id = ids?.playoutDelay { writer.addExtension24(id, UInt32(marking) << 8) }
            if marking & 64 != 0, let id = ids?.audioLevel { writer.addExtension(id, marking) }
            if let rid = stream.rid, marking & 128 == 0, let id = stream.isRepair ? ids?.repairedRID : ids?.rid {
                writer.addExtension(id, rid)
            }
            payload.withUnsafeBytes { writer.append($0) }
            return writer.finish()
        }
        guard let length else { return [] }
        guard let raw else { return Array(bytes[..<length]) }
        // An extension block of the script's own words, in either form.
        let words = raw.count / 4
        var result = Array(bytes[..<12])
        result[0] |= 0x10
        result.append16((raw.first ?? 0) & 1 == 0 ? 0xBEDE : 0x1000)
        result.append16(UInt16(truncatingIfNeeded: words))
        return result + raw[..<(words * 4)] + bytes[12..<length]
    }
}
