import Basics
import Simulation

@testable import Peer

/// Media and reports of the library's own writers.
enum MediaSeeds {
    /// One of every supported kind of RTCP.
    static func reports(about media: SSRC, from sender: SSRC) -> [RTCPPacket] {
        var block = ReportBlock(ssrc: media)
        block.cumulativeLost = -1
        return [
            .senderReport(
                SenderReport(
                    ssrc: sender, ntpTime: .max, rtpTimestamp: 0xFFFF_FFFF, packetCount: 1, octetCount: 1,
                    reports: [block])),
            .receiverReport(ReceiverReport(ssrc: sender, reports: [block, block])),
            .sourceDescription(SourceDescription(ssrc: sender, cname: "häl")),
            .goodbye(Goodbye(ssrcs: [sender, 7])),
            .nack(GenericNack(senderSSRC: sender, mediaSSRC: media, missing: [65_535, 0, 5])),
            .pictureLoss(PictureLossIndication(senderSSRC: sender, mediaSSRC: media)),
            .fullIntraRequest(FullIntraRequest(senderSSRC: sender, entries: [.init(ssrc: media, sequence: 1)])),
            .maxBitrate(ReceiverEstimatedMaxBitrate(senderSSRC: sender, bitRate: .megabits(2), ssrcs: [media, 3])),
            .temporaryLimit(
                TemporaryMaxBitrate(
                    senderSSRC: sender,
                    limits: [
                        .init(ssrc: media, bitRate: .megabits(2), overhead: 40),
                        .init(ssrc: 3, bitRate: .zero, overhead: 511),
                    ])),
            .temporaryLimitNotification(
                TemporaryMaxBitrate(
                    senderSSRC: media, limits: [.init(ssrc: sender, bitRate: .kilobits(90), overhead: 0)])),
            .transportFeedback(
                TransportFeedback(
                    senderSSRC: sender, mediaSSRC: media, baseSequence: 65_530, statusCount: 40, referenceTime: -5,
                    feedbackCount: 255,
                    arrivals: [
                        .init(sequence: 65_530, delta: 3), .init(sequence: 2, delta: -900),
                        .init(sequence: 30, delta: 255),
                    ])),
        ]
    }

    /// Two Opus packets in one (RFC 2198), in Chromium's format: an older one of three bytes and one of two.
    static let redundantAudio: [[UInt8]] = [[0x80 | 111, 0x0F, 0x00, 0x03, 111, 0x78, 1, 2, 0x78, 3], [111, 0x78, 1]]

    static func payloads(_ codec: VideoCodec) -> [[UInt8]] { pictures(codec).flatMap(\.self) }

    /// The payloads of a keyframe, and those of the next frame.
    static func pictures(_ codec: VideoCodec) -> [[[UInt8]]] {
        [true, false].map { isKeyframe -> [[UInt8]] in
            let frame = SimulatedFrame.make(codec, isKeyframe: isKeyframe, bytes: 1500, timestamp: 0)
            return frame.fragments.map { fragment -> [UInt8] in
                var payload: [UInt8] = []
                if codec == .vp8 {
                    VP8Descriptor(
                        startsPartition: fragment.isFirst, pictureID: 5, temporalLevelZeroIndex: 1, temporalLayer: 1
                    ).encode(into: &payload)
                }
                return payload + frame.bytes[fragment.range].prefix(60)
            }
        }
    }
}
