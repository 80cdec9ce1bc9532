/// One SSRC with pictures: a simulcast layer, or the whole of a sender without layers.
///
/// A class, so that a table's look-ups hand out references: a buffer is large to copy.
final class VideoLayer {
    /// Which of the section's RIDs, in the offered order; nil without simulcast.
    let rid: Int?
    var buffer: VideoReceiveBuffer
    /// Of the newest frame that tells its height; 0 before.
    var height = 0
    /// Of the newest packet: what may be asked for is agreed for each payload type.
    var payloadType: UInt8?
    /// The number of the next full intra request: each new one has another (RFC 5104 §4.3.1.1).
    private var intraRequestNumber: UInt8 = 0

    init(rid: Int?, buffer: VideoReceiveBuffer) {
        self.rid = rid
        self.buffer = buffer
    }

    /// A request for a keyframe as it was agreed: PLI, else FIR. A peer that agreed to neither gets a PLI all the same:
    /// it may ignore it (RFC 4585 §6.1), and many do not, while without one its picture might never begin.
    func makeKeyframeRequest(_ feedback: CodecFeedback, senderSSRC: SSRC, mediaSSRC: SSRC) -> RTCPPacket {
        guard feedback.contains(.fir), !feedback.contains(.pli) else {
            return .pictureLoss(PictureLossIndication(senderSSRC: senderSSRC, mediaSSRC: mediaSSRC))
        }
        defer { intraRequestNumber &+= 1 }
        return .fullIntraRequest(
            FullIntraRequest(senderSSRC: senderSSRC, entries: [.init(ssrc: mediaSSRC, sequence: intraRequestNumber)]))
    }
}
