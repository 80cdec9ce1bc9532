import Basics

@testable import Peer

/// Media and reports as our own writers make them.
enum MediaSeeds {
    /// One of every kind of RTCP that is understood.
    static func reports(about media: UInt32, from sender: UInt32) -> [RTCPPacket] {
        var block = ReportBlock(ssrc: media)
        block.cumulativeLost = -1
        return [
            .senderReport(SenderReport(ssrc: sender, ntpTime: .max, rtpTimestamp: .max, packetCount: 1, octetCount: 1, reports: [block])),
            .receiverReport(ReceiverReport(ssrc: sender, reports: [block, block])), .sourceDescription(SourceDescription(ssrc: sender, cname: "häl")),
            .goodbye(Goodbye(ssrcs: [sender, 7])), .nack(GenericNack(senderSSRC: sender, mediaSSRC: media, missing: [65_535, 0, 5])),
            .pictureLoss(PictureLossIndication(senderSSRC: sender, mediaSSRC: media)),
            .fullIntraRequest(FullIntraRequest(senderSSRC: sender, entries: [.init(ssrc: media, sequence: 1)])),
            .maxBitrate(ReceiverEstimatedMaxBitrate(senderSSRC: sender, bitRate: .megabits(2), ssrcs: [media, 3])),
            .temporaryLimit(
                TemporaryMaxBitrate(
                    senderSSRC: sender,
                    limits: [.init(ssrc: media, bitRate: .megabits(2), overhead: 40), .init(ssrc: 3, bitRate: .zero, overhead: 511)])),
            .temporaryLimitNotification(TemporaryMaxBitrate(senderSSRC: media, limits: [.init(ssrc: sender, bitRate: .kilobits(90), overhead: 0)])),
            .transportFeedback(
                TransportFeedback(
                    senderSSRC: sender, mediaSSRC: media, baseSequence: 65_530, statusCount: 40, referenceTime: -5, feedbackCount: 255,
                    arrivals: [.init(sequence: 65_530, delta: 3), .init(sequence: 2, delta: -900), .init(sequence: 30, delta: 255)])),
        ]
    }

    /// Two Opus packets in one, as RFC 2198 and Chromium pack them: an older one of three bytes and one of two.
    static let redundantSound: [[UInt8]] = [[0x80 | 111, 0x0F, 0x00, 0x03, 111, 0x78, 1, 2, 0x78, 3], [111, 0x78, 1]]

    /// A frame with a header that a depacketizer takes (RFC 6386 §9.1; an SPS and PPS of 640×360) and filler.
    static func frame(_ codec: VideoCodec, isKeyframe: Bool, bytes size: Int, timestamp: Int64) -> PacketizedVideoFrame {
        var data: [UInt8] = []
        switch codec {
        case .vp8:
            let tag: UInt32 = (isKeyframe ? 0 : 1) | 1 << 4 | UInt32(size / 2) << 5
            data = [UInt8(truncatingIfNeeded: tag), UInt8(truncatingIfNeeded: tag >> 8), UInt8(truncatingIfNeeded: tag >> 16)]
            if isKeyframe { data += [0x9D, 0x01, 0x2A, 0x80, 0x02, 0x68, 0x01] }
        case .h264:
            if isKeyframe { data += [0, 0, 0, 1] + sps + [0, 0, 0, 1] + pps + [0, 0, 0, 1, 0x65, 0x88] } else { data += [0, 0, 0, 1, 0x41, 0x9A] }
        }
        while data.count < size { data.append(UInt8(truncatingIfNeeded: data.count &* 31) | 1) }
        return PacketizedVideoFrame(
            EncodedVideoFrame(
                codec: codec, data: data, isKeyframe: isKeyframe, timestamp: timestamp, width: isKeyframe ? 640 : 0, height: isKeyframe ? 360 : 0))
    }

    static let sps: [UInt8] = [
        0x67, 0x42, 0xC0, 0x1E, 0xD9, 0x00, 0xA0, 0x2F, 0xF9, 0x61, 0x00, 0x00, 0x03, 0x00, 0x01, 0x00, 0x00, 0x03, 0x00, 0x3C, 0x8F, 0x16, 0x2E,
        0x48,
    ]
    static let pps: [UInt8] = [0x68, 0xCB, 0x83, 0xCB, 0x20]

    static func payloads(_ codec: VideoCodec) -> [[UInt8]] { pictures(codec).flatMap(\.self) }

    /// The payloads of a keyframe, and those of the frame behind it.
    static func pictures(_ codec: VideoCodec) -> [[[UInt8]]] {
        [true, false].map { isKeyframe -> [[UInt8]] in
            let frame = frame(codec, isKeyframe: isKeyframe, bytes: 1500, timestamp: 0)
            return frame.fragments.map { fragment -> [UInt8] in
                var payload: [UInt8] = []
                if codec == .vp8 {
                    VP8Descriptor(startsPartition: fragment.isFirst, pictureID: 5, temporalLevelZeroIndex: 1, temporalLayer: 1).encode(into: &payload)
                }
                return payload + frame.bytes[fragment.range].prefix(60)
            }
        }
    }
}
